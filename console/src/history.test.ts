// Guards the points of the charts: they move each second and stay bounded.
import { expect, it } from "vitest";
import { added } from "./history";
import type { HistoryPoint } from "./shapes";

const point = (seconds: number): HistoryPoint => ({
  unix_ms: String(1_700_000_000_000 + seconds * 1000),
  ids_per_second: seconds,
  requests_per_second: 0,
  errors_per_second: 0,
  cover_seconds: null,
});
const times = (points: HistoryPoint[]) => points.map((one) => one.ids_per_second);

it("keeps points an interval apart, and the newest always", () => {
  let points = [point(0), point(10)];
  for (let seconds = 11; seconds <= 32; seconds += 1) points = added(points, point(seconds), 10_000);
  expect(times(points)).toEqual([0, 10, 20, 30, 32]);
});

it("forgets what is older than 30 minutes", () => {
  expect(times(added([point(0), point(10)], point(1_805), 10_000))).toEqual([10, 1_805]);
});

it("takes the same moment once", () => {
  expect(times(added([point(0), point(10)], point(10), 10_000))).toEqual([0, 10]);
});
