// How the clocks of the other servers differ from this one's: a difference makes ids out of order.
import { duration } from "../numbers";
import { type Column, Table } from "../parts/table";
import type { Workers } from "../shapes";
import { useWords, type Words } from "../words";

type Clock = Workers["clocks"][number];
/** More than this needs a person. */
const DIFFERENCE_MS = 1_000;

function difference(clock: Clock, words: Words) {
  const ms = clock.difference_ms;
  if (ms === null) return "–";
  const length = duration(Math.abs(ms) / 1000, words);
  const text =
    Math.abs(ms) < 1 ? words.overview.clockEqual : ms > 0 ? words.workers.ahead(length) : words.workers.behind(length);
  return <span class={Math.abs(ms) > DIFFERENCE_MS ? "alarm" : ""}>{text}</span>;
}

export function Clocks({ clocks }: { clocks: readonly Clock[] }) {
  const words = useWords();
  const columns: Column<Clock>[] = [
    { key: "address", head: words.workers.address, isName: true, cell: (clock) => clock.address },
    { key: "worker", head: words.workers.id, isNumber: true, cell: (clock) => clock.worker },
    {
      key: "answers",
      head: words.workers.answers,
      cell: (clock) => (clock.answers ? words.common.yes : <b>{words.common.no}</b>),
    },
    { key: "difference", head: words.workers.difference, isNumber: true, cell: (clock) => difference(clock, words) },
  ];
  return (
    <section class="panel" data-testid="clocks">
      <h2>{words.workers.clocks}</h2>
      {clocks.length === 0 ? (
        <p class="empty">{words.workers.noClocks}</p>
      ) : (
        <Table
          caption={words.workers.clocks}
          isCaptionHidden
          columns={columns}
          rows={clocks}
          rowKey={(clock) => `${clock.address} ${clock.worker}`}
        />
      )}
    </section>
  );
}
