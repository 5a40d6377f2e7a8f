// Where things lie in the picture of the two segments: shares of a bar, from 64-bit numbers.
import type { TagDetail } from "./shapes";

export interface Bar {
  start: bigint;
  /** The first number after the segment. */
  end: bigint;
  length: bigint;
  left: bigint;
  /** How much of the picture's width the bar takes; both together are 1. */
  width: number;
  /** How much of the bar is used up. */
  used: number;
}

export interface SegmentsGeometry {
  first: Bar | null;
  second: Bar | null;
  cursor: bigint | null;
  /** Where the segment after the last one is fetched; null if that is not known. */
  refill: Refill | null;
}

export interface Refill {
  at: bigint;
  /** The bar in which it lies, and where in it. */
  bar: "first" | "second";
  share: number;
  isPassed: boolean;
  /** How many ids are left until then. */
  ids: bigint;
}

/** A bar is never narrower than this, so that its numbers can be read. */
export const WIDTH_MIN = 0.3;
const PARTS = 1_000_000n;

/** `part` of `whole`, from 0 to 1; rounded down, exact to a millionth. */
export function share(part: bigint, whole: bigint): number {
  if (whole <= 0n || part <= 0n) return 0;
  if (part >= whole) return 1;
  return Number((part * PARTS) / whole) / Number(PARTS);
}

export function geometry(detail: Pick<TagDetail, "segments" | "cursor" | "refill_at">): SegmentsGeometry {
  const [one, two] = detail.segments;
  if (one === undefined) return { first: null, second: null, cursor: null, refill: null };
  const start = BigInt(one.start);
  const end = BigInt(one.end);
  const length = end - start;
  const cursor = clamp(detail.cursor === null ? start : BigInt(detail.cursor), start, end);
  const secondLength = two === undefined ? 0n : BigInt(two.end) - BigInt(two.start);
  const width = two === undefined ? 1 - WIDTH_MIN : firstWidth(length, secondLength);
  const first = { start, end, length, left: end - cursor, width, used: share(cursor - start, length) };
  const second = secondBar(two, secondLength, 1 - width);
  return { first, second, cursor, refill: refill(detail.refill_at, first, second, cursor) };
}

function secondBar(segment: TagDetail["segments"][number] | undefined, length: bigint, width: number): Bar | null {
  if (segment === undefined) return null;
  return { start: BigInt(segment.start), end: BigInt(segment.end), length, left: length, width, used: 0 };
}

function firstWidth(first: bigint, second: bigint): number {
  const proportional = share(first, first + second);
  return Math.min(Math.max(proportional, WIDTH_MIN), 1 - WIDTH_MIN);
}

/** The mark lies in one of the segments, which need not be adjacent. */
function refill(refillAt: string | null, first: Bar, second: Bar | null, cursor: bigint): Refill | null {
  if (refillAt === null) return null;
  const at = BigInt(refillAt);
  if (second !== null && at >= second.start && at <= second.end) {
    const passed = at - second.start;
    return { at, bar: "second", share: share(passed, second.length), isPassed: false, ids: first.left + passed };
  }
  if (at < first.start || at > first.end) return null;
  const isPassed = cursor >= at;
  const ids = isPassed ? 0n : at - cursor;
  return { at, bar: "first", share: share(at - first.start, first.length), isPassed, ids };
}

function clamp(number: bigint, low: bigint, high: bigint): bigint {
  if (number < low) return low;
  return number > high ? high : number;
}
