// The parts of one decoded id, and every family that it fits.
import type { ComponentChildren } from "preact";
import { type Fact, Facts } from "../parts/facts";
import { type Column, NOTHING, Table } from "../parts/table";
import type { Decoded, Reading } from "../shapes";
import { useWords, type Words } from "../words";

/** The parts of a number by the server's layout, in the order in which one reads them. */
const PARTS = ["layout", "worker_id", "data_center", "worker_in_data_center", "sequence", "unix_ms", "tick"] as const;

function partName(name: string, words: Words): string {
  return words.decode.partNames[name] ?? name;
}

function time(text: string | null | undefined): ComponentChildren {
  if (text === null || text === undefined) return NOTHING;
  const local = new Date(text);
  const title = Number.isNaN(local.getTime()) ? text : local.toString();
  return (
    <time dateTime={text} title={title}>
      {text.replace("T", " ").replace("Z", " UTC")}
    </time>
  );
}

export function DecodedId({ decoded }: { decoded: Decoded }) {
  const words = useWords();
  const readings = decoded.readings ?? [];
  const isNumber = decoded.layout !== undefined || decoded.tag !== undefined;
  return (
    <>
      {isNumber && <Exact decoded={decoded} />}
      {decoded.readings !== undefined &&
        (readings.length === 0 ? (
          <p class="empty">{words.decode.noReadings}</p>
        ) : (
          <>
            <h3>{words.decode.readings}</h3>
            <Table
              caption={words.decode.readings}
              isCaptionHidden
              columns={columns(words)}
              rows={readings}
              rowKey={(reading, index) => `${reading.name} ${index}`}
              rowTestid={(reading) => `reading-${reading.name}`}
            />
          </>
        ))}
    </>
  );
}

function Exact({ decoded }: { decoded: Decoded }) {
  const words = useWords();
  const facts: Fact[] = [[words.decode.time, time(decoded.time)]];
  if (decoded.number !== undefined) facts.push([words.decode.number, decoded.number]);
  for (const name of PARTS) {
    const value = decoded[name];
    if (value !== undefined && value !== null) facts.push([partName(name, words), value]);
  }
  for (const [name, value] of Object.entries(decoded.parts ?? {})) facts.push([partName(name, words), value]);
  return (
    <>
      <h3>{decoded.tag === undefined ? words.decode.best : words.decode.byTag(decoded.tag)}</h3>
      <Facts facts={facts} testid="decoded-parts" />
      <Marks marks={decoded.marks ?? []} />
    </>
  );
}

/** What is impossible about the id. */
function Marks({ marks }: { marks: readonly string[] }) {
  if (marks.length === 0) return null;
  return (
    <ul class="impossible" data-testid="decode-marks">
      {marks.map((mark) => (
        <li key={mark}>{mark}</li>
      ))}
    </ul>
  );
}

function columns(words: Words): Column<Reading>[] {
  return [
    { key: "family", head: words.decode.family, isName: true, cell: (reading) => <b>{reading.name}</b> },
    { key: "fit", head: words.decode.fit, cell: (reading) => <Fit score={reading.score} /> },
    { key: "time", head: words.decode.time, cell: (reading) => time(reading.time) },
    { key: "parts", head: words.decode.parts, isText: true, cell: (reading) => partsOf(reading.parts, words) },
    {
      key: "marks",
      head: words.decode.marks,
      isText: true,
      cell: (reading) => (reading.marks.length === 0 ? NOTHING : <Marks marks={reading.marks} />),
    },
  ];
}

function partsOf(parts: Record<string, string>, words: Words) {
  const entries = Object.entries(parts);
  if (entries.length === 0) return NOTHING;
  return (
    <ul class="parts">
      {entries.map(([name, value]) => (
        <li key={name}>
          <span class="meaning">{partName(name, words)}</span> <code>{value}</code>
        </li>
      ))}
    </ul>
  );
}

function Fit({ score }: { score: number }) {
  return (
    <span class="fit">
      <span class="fit-bar" aria-hidden="true">
        <span style={{ width: `${Math.min(Math.max(score, 0), 100)}%` }} />
      </span>
      {score}
    </span>
  );
}
