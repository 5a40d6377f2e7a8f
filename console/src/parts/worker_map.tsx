// The map of worker ids: a grid of 32 columns, one cell for each. Arrow keys move in it, Home and
// End go to the ends of a row; Enter and a click keep a cell selected.
import { useMemo, useRef, useState } from "preact/hooks";
import type { Worker, WorkerState } from "../shapes";
import { useWords, type Words } from "../words";

const COLUMNS = 32;
/** Each state has a sign of its own, so that nothing depends on colour alone. */
const SIGNS: Record<WorkerState | "free", string> = {
  own: "●",
  held: "",
  free: "",
  expired: "–",
  released: "·",
  java: "J",
  quarantined: "!",
};
const STATES: (WorkerState | "free")[] = ["own", "held", "free", "expired", "released", "quarantined", "java"];

interface WorkerMapProps {
  count: number;
  byId: ReadonlyMap<number, Worker>;
  pinned: number;
  /** The cell that is pointed at or focused; null for none. */
  onShow: (id: number | null) => void;
  onPin: (id: number) => void;
}

function idOf(event: Event): number | null {
  const cell = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-id]") : null;
  return cell === null ? null : Number(cell.dataset["id"]);
}

function moved(key: string, id: number): number | null {
  const column = id % COLUMNS;
  switch (key) {
    case "ArrowRight":
      return id + 1;
    case "ArrowLeft":
      return id - 1;
    case "ArrowDown":
      return id + COLUMNS;
    case "ArrowUp":
      return id - COLUMNS;
    case "Home":
      return id - column;
    case "End":
      return id - column + COLUMNS - 1;
    default:
      return null;
  }
}

export function WorkerMap({ count, byId, pinned, onShow, onPin }: WorkerMapProps) {
  const words = useWords();
  const grid = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(pinned);
  const pin = (id: number) => {
    setCurrent(id);
    onPin(id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return pin(current);
    }
    const next = moved(event.key, current);
    if (next === null) return;
    event.preventDefault();
    if (next < 0 || next >= count) return;
    setCurrent(next);
    grid.current?.querySelector<HTMLElement>(`[data-id="${next}"]`)?.focus();
  };
  const rows = useMemo(() => cells(count, byId, current, pinned, words), [count, byId, current, pinned, words]);
  return (
    <>
      <div
        ref={grid}
        class="worker-map"
        role="grid"
        aria-label={words.workers.map}
        data-testid="worker-map"
        onKeyDown={onKeyDown}
        onMouseOver={(event) => onShow(idOf(event))}
        onMouseLeave={() => onShow(null)}
        onFocusIn={(event) => onShow(idOf(event))}
        onFocusOut={() => onShow(null)}
        onClick={(event) => {
          const id = idOf(event);
          if (id !== null) pin(id);
        }}
      >
        {rows}
      </div>
      <Legend byId={byId} count={count} />
    </>
  );
}

function cells(count: number, byId: ReadonlyMap<number, Worker>, current: number, pinned: number, words: Words) {
  const rows = [];
  for (let first = 0; first < count; first += COLUMNS) {
    const ids = Array.from({ length: Math.min(COLUMNS, count - first) }, (_, index) => first + index);
    rows.push(
      <div role="row" key={first} class="worker-row">
        <span class="row-head" aria-hidden="true">
          {first}
        </span>
        {ids.map((id) => {
          const state = byId.get(id)?.state ?? "free";
          return (
            <div
              key={id}
              role="gridcell"
              class={`worker ${state}`}
              data-id={id}
              data-state={state}
              data-testid={`worker-${id}`}
              tabIndex={id === current ? 0 : -1}
              aria-selected={id === pinned}
              aria-label={`${id}: ${words.workers.states[state]}`}
            >
              {SIGNS[state]}
            </div>
          );
        })}
      </div>,
    );
  }
  return rows;
}

function Legend({ byId, count }: { byId: ReadonlyMap<number, Worker>; count: number }) {
  const words = useWords();
  const counts = new Map<WorkerState | "free", number>();
  for (const worker of byId.values()) counts.set(worker.state, (counts.get(worker.state) ?? 0) + 1);
  counts.set("free", count - byId.size);
  return (
    <ul class="legend">
      {STATES.map((state) => (
        <li key={state}>
          <span class={`worker ${state}`} aria-hidden="true">
            {SIGNS[state]}
          </span>
          {words.workers.states[state]} <b>{counts.get(state) ?? 0}</b>
        </li>
      ))}
    </ul>
  );
}
