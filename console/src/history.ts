// The last 30 minutes for the charts: what the server kept, and then each second what it streams.
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "./api";
import type { HistoryPoint, Overview } from "./shapes";

const SPAN_MS = 30 * 60 * 1000;

/** The points of the charts; those of the stream are thinned to the interval of the server's. */
export function useHistory(overview: Overview | null): HistoryPoint[] {
  const [points, setPoints] = useState<HistoryPoint[]>([]);
  const interval = useRef(10_000);
  useEffect(() => {
    api.history().then(
      (history) => {
        interval.current = history.interval_seconds * 1000;
        setPoints((streamed) => joined(history.points, streamed));
      },
      () => {},
    );
  }, []);
  useEffect(() => {
    if (overview !== null) setPoints((points) => added(points, pointOf(overview), interval.current));
  }, [overview]);
  return points;
}

function pointOf(overview: Overview): HistoryPoint {
  const { http, resp, grpc } = overview.requests_per_second;
  return {
    unix_ms: overview.unix_ms,
    ids_per_second: overview.ids_per_second,
    requests_per_second: http + resp + grpc,
    errors_per_second: overview.errors_per_second,
    cover_seconds: overview.cover.seconds,
  };
}

function joined(kept: HistoryPoint[], streamed: HistoryPoint[]): HistoryPoint[] {
  const last = kept[kept.length - 1];
  if (last === undefined) return streamed;
  return [...kept, ...streamed.filter((point) => Number(point.unix_ms) > Number(last.unix_ms))];
}

/** Puts the newest point in place of the last one, unless that is an interval after its own
 * predecessor: so the line moves each second, and old points stay as far apart as the server's. */
export function added(points: HistoryPoint[], point: HistoryPoint, intervalMs: number): HistoryPoint[] {
  const now = Number(point.unix_ms);
  const kept = points.filter((old) => now - Number(old.unix_ms) < SPAN_MS && Number(old.unix_ms) < now);
  const last = kept[kept.length - 1];
  const before = kept[kept.length - 2];
  const isFull =
    last === undefined || before === undefined || Number(last.unix_ms) - Number(before.unix_ms) >= intervalMs;
  return [...(isFull ? kept : kept.slice(0, -1)), point];
}
