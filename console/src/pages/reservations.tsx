// The segments that this server reserved: how long each was, as a picture and as a table.
import { useMemo, useState } from "preact/hooks";
import { Chart } from "../parts/chart";
import { Moment } from "../parts/moment";
import { type Column, Table } from "../parts/table";
import { grouped } from "../numbers";
import type { Reservation } from "../shapes";
import { fromUnixMs } from "../times";
import { useWords } from "../words";

const SHOWN = 10;

function lengthOf(reservation: Reservation): bigint {
  return BigInt(reservation.end) - BigInt(reservation.start);
}

export function Reservations({ reservations }: { reservations: readonly Reservation[] }) {
  const words = useWords();
  const [isWhole, setIsWhole] = useState(false);
  const newest = reservations[0];
  const points = useMemo(
    () => [...reservations].reverse().map((one) => ({ unixMs: Number(one.unix_ms), value: Number(lengthOf(one)) })),
    [newest?.unix_ms, reservations.length],
  );
  const columns: Column<Reservation>[] = [
    { key: "time", head: words.common.time, isName: true, cell: (one) => <Moment date={fromUnixMs(one.unix_ms)} /> },
    { key: "start", head: words.tag.start, isNumber: true, cell: (one) => grouped(one.start) },
    { key: "end", head: words.tag.end, isNumber: true, cell: (one) => grouped(BigInt(one.end) - 1n) },
    { key: "length", head: words.tag.length, isNumber: true, cell: (one) => grouped(lengthOf(one)) },
    { key: "took", head: words.tag.took, isNumber: true, cell: (one) => `${one.took_ms.toFixed(1)} ms` },
  ];
  return (
    <section class="panel" data-testid="reservations">
      <h2>{words.tag.reservations}</h2>
      {newest === undefined ? (
        <p class="empty">{words.tag.reservationsNone}</p>
      ) : (
        <>
          <h3>{words.tag.reservationsPlot}</h3>
          <Chart
            name={words.tag.reservationsPlot}
            points={points}
            height={120}
            format={(value) => grouped(Math.round(value))}
            isDots
            spanSeconds={60}
          />
          <Table
            caption={words.tag.reservations}
            isCaptionHidden
            columns={columns}
            rows={isWhole ? reservations : reservations.slice(0, SHOWN)}
            rowKey={(one) => `${one.start} ${one.unix_ms}`}
          />
          {!isWhole && reservations.length > SHOWN && (
            <button type="button" class="quiet" onClick={() => setIsWhole(true)}>
              {words.tag.moreRows(grouped(reservations.length))}
            </button>
          )}
        </>
      )}
    </section>
  );
}
