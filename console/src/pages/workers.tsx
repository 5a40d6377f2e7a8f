// Worker ids: a map of all of them, who holds each, and how the clocks of the servers differ.
import { useMemo, useState } from "preact/hooks";
import { api } from "../api";
import { useAsked } from "../asked";
import { ProblemNote } from "../parts/problem_note";
import { WorkerMap } from "../parts/worker_map";
import { grouped } from "../numbers";
import { useSession } from "../session";
import type { Worker, Workers } from "../shapes";
import { useWords } from "../words";
import { Clocks } from "./clocks";
import { ReleaseDialog } from "./release_dialog";
import { WorkerDetails } from "./worker_details";
import { WorkerList } from "./worker_list";

const RELOAD_SECONDS = 5;
/** More worker ids make no map: only those that have a row are listed. */
const MAP_MAX = 1024;

export function WorkersPage() {
  const words = useWords();
  const session = useSession();
  const { value, problem, reload } = useAsked("workers", api.workers, RELOAD_SECONDS);
  const [released, setReleased] = useState<Worker | null>(null);
  const [done, setDone] = useState<string | null>(null);
  return (
    <>
      <div class="title-row">
        <h1>{words.pages.workers}</h1>
        {value !== null && (
          <span class="hint" data-testid="workers-in-use">
            {words.workers.inUse(grouped(value.workers.length), grouped(value.worker_max + 1))}
            {value.pool !== "default" && ` · ${words.workers.pool} ${value.pool}`}
          </span>
        )}
      </div>
      <ProblemNote problem={problem} />
      <p role="status" class={done === null ? "unseen" : "notice"}>
        {done}
      </p>
      {session?.snowflake === false && <p class="empty">{words.workers.off}</p>}
      {value === null && problem === null && <p class="empty">{words.common.loading}</p>}
      {value !== null && <Content workers={value} onRelease={setReleased} />}
      {released !== null && (
        <ReleaseDialog
          worker={released}
          onClose={() => setReleased(null)}
          onDone={() => {
            setDone(words.workers.released(String(released.worker)));
            reload();
          }}
        />
      )}
    </>
  );
}

function Content({ workers, onRelease }: { workers: Workers; onRelease: (worker: Worker) => void }) {
  const words = useWords();
  const count = workers.worker_max + 1;
  const byId = useMemo(() => new Map(workers.workers.map((worker) => [worker.worker, worker])), [workers]);
  const [pinned, setPinned] = useState<number>(workers.own ?? 0);
  const [shown, setShown] = useState<number | null>(null);
  const hasMap = count <= MAP_MAX;
  return (
    <>
      {hasMap ? (
        <div class="worker-page">
          <section class="panel">
            <h2>{words.workers.map}</h2>
            <WorkerMap count={count} byId={byId} pinned={pinned} onShow={setShown} onPin={setPinned} />
            <p class="hint">{words.workers.mapHint}</p>
          </section>
          <WorkerDetails id={shown ?? pinned} worker={byId.get(shown ?? pinned) ?? null} onRelease={onRelease} />
        </div>
      ) : (
        <p class="hint">{words.workers.tooMany}</p>
      )}
      <Clocks clocks={workers.clocks} />
      {workers.workers.length > 0 && (
        <details class="panel" open={!hasMap}>
          <summary>
            <h2>
              {words.workers.list} ({grouped(workers.workers.length)})
            </h2>
          </summary>
          <WorkerList workers={workers.workers} onRelease={onRelease} />
        </details>
      )}
    </>
  );
}
