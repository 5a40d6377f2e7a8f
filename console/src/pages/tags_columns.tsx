// The columns of the list of tags.
import { ActionMenu } from "../parts/action_menu";
import { type Column, NOTHING } from "../parts/table";
import { days, duration, grouped, rate } from "../numbers";
import { tagLink } from "../route";
import type { TagRow } from "../shapes";
import type { Words } from "../words";
import type { TagDialogKind } from "./tag_dialogs";

export const SORTS = ["name", "rate", "cover", "headroom"] as const;
export type Sort = (typeof SORTS)[number];

/** A cover below this needs a person: the store must come back within it. */
const COVER_SECONDS_LOW = 10;
const HEADROOM_DAYS_LOW = 30;

interface ColumnsOptions {
  words: Words;
  sort: Sort;
  onSort: (sort: Sort) => void;
  /** Null where nothing may be changed. */
  onAction: ((kind: TagDialogKind, tag: string) => void) | null;
}

export function tagColumns({ words, sort, onSort, onAction }: ColumnsOptions): Column<TagRow>[] {
  const sorted = (by: Sort, direction: "ascending" | "descending") => ({
    isActive: sort === by,
    direction,
    onSort: () => onSort(by),
  });
  const columns: Column<TagRow>[] = [
    {
      key: "name",
      head: words.tags.tag,
      isName: true,
      sort: sorted("name", "ascending"),
      cell: (row) => (
        <>
          <a href={tagLink(row.tag)} class="tag-name">
            {row.tag}
          </a>
          {row.description !== null && <small class="hint">{row.description}</small>}
        </>
      ),
    },
    { key: "kind", head: words.tags.kind, cell: (row) => <Kind row={row} /> },
    {
      key: "rate",
      head: words.tags.rate,
      isNumber: true,
      sort: sorted("rate", "descending"),
      cell: (row) => (row.rate === null ? NOTHING : rate(row.rate)),
    },
    {
      key: "cover",
      head: words.tags.cover,
      isNumber: true,
      sort: sorted("cover", "ascending"),
      cell: (row) => low(row.cover_seconds, COVER_SECONDS_LOW, (seconds) => duration(seconds, words)),
    },
    {
      key: "remaining",
      head: words.tags.remaining,
      isNumber: true,
      isMinor: true,
      cell: (row) => (row.remaining === null ? NOTHING : grouped(row.remaining)),
    },
    {
      key: "max_id",
      head: words.tags.maxId,
      isNumber: true,
      cell: (row) => (row.max_id === null ? NOTHING : grouped(row.max_id)),
    },
    {
      key: "step",
      head: words.tags.step,
      isNumber: true,
      isMinor: true,
      cell: (row) => (row.step === null ? NOTHING : grouped(row.step)),
    },
    {
      key: "headroom",
      head: words.tags.headroom,
      isNumber: true,
      sort: sorted("headroom", "ascending"),
      cell: (row) => low(row.headroom_days, HEADROOM_DAYS_LOW, (count) => days(count, words)),
    },
    {
      key: "quota",
      head: words.tags.quota,
      isNumber: true,
      cell: (row) => (row.quota === null ? NOTHING : row.quota === 0 ? words.tags.blocked : grouped(row.quota)),
    },
  ];
  if (onAction !== null) columns.push(actions(words, onAction));
  return columns;
}

function Kind({ row }: { row: TagRow }) {
  return (
    <>
      {row.kind}
      {row.format !== null && <small class="hint code">{row.format}</small>}
    </>
  );
}

/** A value that turns red where it needs a person. */
function low(value: number | null, least: number, text: (value: number) => string) {
  if (value === null) return NOTHING;
  return value < least ? <span class="alarm">{text(value)}</span> : text(value);
}

function actions(words: Words, onAction: (kind: TagDialogKind, tag: string) => void): Column<TagRow> {
  return {
    key: "actions",
    isActions: true,
    head: words.common.actions,
    cell: (row) => (
      <ActionMenu
        label={words.tags.actionsOf(row.tag)}
        testid={`tag-actions-${row.tag}`}
        actions={actionsOf(row.kind).map((kind) => ({
          key: kind,
          text: words.tag[kind],
          isDanger: kind === "delete",
          onChoose: () => onAction(kind, row.tag),
        }))}
      />
    ),
  };
}

/** Only tags of numbers from the store can be raised. */
export function actionsOf(kind: string): ("change" | "raise" | "quota" | "delete")[] {
  return kind === "segment" ? ["change", "raise", "quota", "delete"] : ["change", "quota", "delete"];
}
