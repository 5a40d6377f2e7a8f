// A table that turns into a list of cards on narrow screens. The roles are stated, because the
// browser forgets those of a table that is no longer laid out as one.
import type { ComponentChildren } from "preact";

/** What a cell without a value shows; narrow screens leave it out. */
export const NOTHING = "–";

export interface Column<Row> {
  key: string;
  head: string;
  cell: (row: Row) => ComponentChildren;
  isNumber?: boolean;
  /** The column that names the row. */
  isName?: boolean;
  /** Hidden on narrow screens. */
  isMinor?: boolean;
  /** Long text, which may wrap. */
  isText?: boolean;
  /** Short text, which never wraps. */
  isShort?: boolean;
  /** Buttons, without a name on narrow screens. */
  isActions?: boolean;
  /** How the rows are sorted by this column; absent where it is no order. */
  sort?: { isActive: boolean; direction: "ascending" | "descending"; onSort: () => void };
}

interface TableProps<Row> {
  caption: string;
  isCaptionHidden?: boolean;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row, index: number) => string;
  rowTestid?: (row: Row) => string;
  rowClass?: (row: Row) => string;
  testid?: string;
}

function cellClass<Row>(column: Column<Row>): string {
  const classes = [];
  if (column.isNumber === true) classes.push("number");
  if (column.isMinor === true) classes.push("minor");
  if (column.isText === true) classes.push("text");
  if (column.isShort === true) classes.push("short");
  if (column.isActions === true) classes.push("actions");
  return classes.join(" ");
}

export function Table<Row>(props: TableProps<Row>) {
  return (
    <div class="table-frame" role="region" aria-label={props.caption} tabIndex={0}>
      <table role="table" data-testid={props.testid}>
        <caption class={props.isCaptionHidden === true ? "unseen" : ""}>{props.caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {props.columns.map((column) => (
              <HeadCell key={column.key} column={column} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {props.rows.map((row, index) => (
            <tr
              key={props.rowKey(row, index)}
              role="row"
              class={props.rowClass?.(row)}
              data-testid={props.rowTestid?.(row)}
            >
              {props.columns.map((column) => (
                <BodyCell key={column.key} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function HeadCell<Row>({ column }: { column: Column<Row> }) {
  const { sort } = column;
  const order = sort?.isActive === true ? sort.direction : undefined;
  return (
    <th scope="col" role="columnheader" class={cellClass(column)} aria-sort={order}>
      {sort === undefined ? (
        column.head
      ) : (
        <button type="button" class="sort" onClick={sort.onSort} data-testid={`sort-${column.key}`}>
          {column.head}
          <span aria-hidden="true">{!sort.isActive ? "" : sort.direction === "ascending" ? " ↑" : " ↓"}</span>
        </button>
      )}
    </th>
  );
}

function BodyCell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const content = column.cell(row);
  if (column.isName === true) {
    return (
      <th scope="row" role="rowheader" class={cellClass(column)}>
        {content}
      </th>
    );
  }
  return (
    <td role="cell" class={`${cellClass(column)} ${content === NOTHING ? "nothing" : ""}`} data-head={column.head}>
      {content}
    </td>
  );
}
