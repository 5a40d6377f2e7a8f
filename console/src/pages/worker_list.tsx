// The worker ids that have a row, as a table.
import { Moment } from "../parts/moment";
import { type Column, NOTHING, Table } from "../parts/table";
import { grouped } from "../numbers";
import { useMayChange } from "../session";
import type { Worker } from "../shapes";
import { useWords } from "../words";
import { mayBeReleased } from "./worker_details";

const SHOWN = 500;

export function WorkerList({
  workers,
  onRelease,
}: {
  workers: readonly Worker[];
  onRelease: (worker: Worker) => void;
}) {
  const words = useWords();
  const mayChange = useMayChange();
  const columns: Column<Worker>[] = [
    { key: "id", head: words.workers.id, isName: true, cell: (one) => one.worker },
    {
      key: "state",
      head: words.workers.state,
      cell: (one) => (one.state === "own" ? <b>{words.workers.states.own}</b> : words.workers.states[one.state]),
    },
    { key: "address", head: words.workers.address, cell: (one) => one.address || "–" },
    {
      key: "holder",
      head: words.workers.holder,
      isMinor: true,
      cell: (one) => (one.holder === "" ? "–" : <code>{one.holder}</code>),
    },
    { key: "epoch", head: words.workers.epoch, isNumber: true, cell: (one) => one.epoch },
    {
      key: "until",
      head: words.workers.until,
      cell: (one) => (one.until === null ? "–" : <Moment date={new Date(one.until)} />),
    },
  ];
  if (mayChange) {
    columns.push({
      key: "release",
      isActions: true,
      head: words.common.actions,
      cell: (one) =>
        mayBeReleased(one) ? (
          <button
            type="button"
            class="quiet"
            aria-label={words.workers.releaseTitle(String(one.worker))}
            onClick={() => onRelease(one)}
          >
            {words.workers.release}
          </button>
        ) : (
          NOTHING
        ),
    });
  }
  return (
    <>
      <Table
        caption={words.workers.list}
        isCaptionHidden
        columns={columns}
        rows={workers.slice(0, SHOWN)}
        rowKey={(one) => String(one.worker)}
        rowTestid={(one) => `worker-row-${one.worker}`}
      />
      {workers.length > SHOWN && <p class="hint">{words.workers.firstRows(grouped(workers.length))}</p>}
    </>
  );
}
