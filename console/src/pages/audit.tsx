// Who changed what, from where, before and after; as a table, and as a file.
import { useState } from "preact/hooks";
import { api } from "../api";
import { useAsked } from "../asked";
import { csv } from "../csv";
import { saveAs } from "../download";
import { grouped } from "../numbers";
import { SelectField } from "../parts/field";
import { Moment } from "../parts/moment";
import { ProblemNote } from "../parts/problem_note";
import { type Column, Table } from "../parts/table";
import type { Change } from "../shapes";
import { useWords, type Words } from "../words";

const COUNTS = ["100", "300", "1000"];
const FIELDS = ["time", "token", "address", "server", "action", "subject", "before", "after"] as const;

function fits(change: Change, filter: string): boolean {
  const wanted = filter.toLowerCase();
  return FIELDS.some((field) => (change[field] ?? "").toLowerCase().includes(wanted));
}

export function Audit() {
  const words = useWords();
  const [count, setCount] = useState("100");
  const [filter, setFilter] = useState("");
  const { value, problem } = useAsked(count, () => api.audit(Number(count)));
  const changes = (value?.changes ?? []).filter((change) => fits(change, filter));
  const exportJson = () => saveAs("leafid-audit.json", "application/json", JSON.stringify({ changes }, null, 2));
  const exportCsv = () =>
    saveAs(
      "leafid-audit.csv",
      "text/csv;charset=utf-8",
      csv(
        FIELDS,
        changes.map((change) => FIELDS.map((field) => change[field])),
      ),
    );
  return (
    <>
      <div class="title-row">
        <h1>{words.pages.audit}</h1>
        {value !== null && (
          <span class="hint" role="status" data-testid="audit-count">
            {words.audit.shown(grouped(changes.length))}
          </span>
        )}
        <span class="spring" />
        <button type="button" disabled={changes.length === 0} onClick={exportJson} data-testid="export-json">
          {words.audit.exportJson}
        </button>
        <button type="button" disabled={changes.length === 0} onClick={exportCsv} data-testid="export-csv">
          {words.audit.exportCsv}
        </button>
      </div>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <div class="field">
          <label for="audit-filter">{words.audit.filter}</label>
          <input
            id="audit-filter"
            type="search"
            value={filter}
            data-testid="audit-filter"
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        </div>
        <SelectField
          label={words.audit.count}
          value={count}
          testid="audit-limit"
          options={COUNTS.map((count) => [count, grouped(count)] as const)}
          onValue={setCount}
        />
      </form>
      <ProblemNote problem={problem} />
      {value === null && problem === null && <p class="empty">{words.common.loading}</p>}
      {value !== null && changes.length === 0 && (
        <p class="empty">{value.changes.length === 0 ? words.audit.none : words.audit.noMatch}</p>
      )}
      {changes.length > 0 && (
        <Table
          caption={words.audit.caption}
          isCaptionHidden
          testid="audit"
          columns={columns(words)}
          rows={changes}
          rowKey={(change, index) => `${change.time} ${change.subject} ${index}`}
        />
      )}
    </>
  );
}

function columns(words: Words): Column<Change>[] {
  return [
    { key: "time", head: words.common.time, isName: true, cell: (change) => <Moment date={new Date(change.time)} /> },
    {
      key: "who",
      head: words.audit.who,
      isShort: true,
      cell: (change) => change.token ?? <i class="meaning">{words.audit.noToken}</i>,
    },
    { key: "address", head: words.audit.address, cell: (change) => change.address },
    { key: "server", head: words.audit.server, isMinor: true, cell: (change) => change.server },
    { key: "action", head: words.audit.action, isShort: true, cell: (change) => change.action },
    { key: "subject", head: words.audit.subject, isText: true, cell: (change) => change.subject },
    { key: "before", head: words.audit.before, isText: true, cell: (change) => code(change.before) },
    { key: "after", head: words.audit.after, isText: true, cell: (change) => code(change.after) },
  ];
}

function code(text: string | null) {
  return text === null ? "–" : <code>{text}</code>;
}
