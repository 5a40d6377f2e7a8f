// Who holds the worker id that is pointed at in the map.
import { Facts } from "../parts/facts";
import { Moment } from "../parts/moment";
import { useMayChange } from "../session";
import type { Worker, WorkerState } from "../shapes";
import { useWords } from "../words";

/** Worker ids that no server can claim before their time, unless someone forces it. */
const FORCED: readonly WorkerState[] = ["held", "java", "quarantined"];

export function mayBeReleased(worker: Worker): boolean {
  return FORCED.includes(worker.state);
}

interface WorkerDetailsProps {
  id: number;
  /** Null where it has no row. */
  worker: Worker | null;
  onRelease: (worker: Worker) => void;
}

export function WorkerDetails({ id, worker, onRelease }: WorkerDetailsProps) {
  const words = useWords();
  const mayChange = useMayChange();
  const state = worker?.state ?? "free";
  return (
    <section class="panel worker-details" data-testid="worker-details">
      <h2>
        {words.workers.id} <b class="large">{id}</b>
      </h2>
      <p>
        <span class="mark">{words.workers.states[state]}</span> {words.workers.stateMeaning[state]}
      </p>
      {worker !== null && (
        <Facts
          facts={[
            worker.address === "" ? null : [words.workers.address, worker.address],
            worker.holder === "" ? null : [words.workers.holder, <code>{worker.holder}</code>],
            [words.workers.epoch, worker.epoch],
            worker.until === null ? null : [words.workers.until, <Moment date={new Date(worker.until)} />],
          ]}
        />
      )}
      {mayChange && worker !== null && mayBeReleased(worker) && (
        <p>
          <button type="button" class="danger-text" onClick={() => onRelease(worker)} data-testid="release-worker">
            {words.workers.release}
          </button>
        </p>
      )}
    </section>
  );
}
