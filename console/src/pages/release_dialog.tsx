// Frees the worker id of a dead process before its lease ends, and says what that risks.
import { api } from "../api";
import { Dialog } from "../parts/dialog";
import { Facts } from "../parts/facts";
import { Moment } from "../parts/moment";
import type { Worker } from "../shapes";
import { useWords } from "../words";

export function ReleaseDialog({
  worker,
  onClose,
  onDone,
}: {
  worker: Worker;
  onClose: () => void;
  onDone: () => void;
}) {
  const words = useWords();
  return (
    <Dialog
      title={words.workers.releaseTitle(String(worker.worker))}
      submit={words.workers.releaseSubmit}
      testid="release"
      confirmation={String(worker.worker)}
      onClose={onClose}
      onSubmit={async () => {
        await api.releaseWorker(worker.worker);
        onDone();
      }}
    >
      <p class="problem" data-testid="release-risk">
        {words.workers.releaseRisk}
      </p>
      <p>{words.workers.releaseText}</p>
      <Facts
        facts={[
          [words.workers.state, words.workers.states[worker.state]],
          [words.workers.address, worker.address || "–"],
          [words.workers.holder, <code>{worker.holder || "–"}</code>],
          worker.until === null ? null : [words.workers.until, <Moment date={new Date(worker.until)} />],
        ]}
      />
    </Dialog>
  );
}
