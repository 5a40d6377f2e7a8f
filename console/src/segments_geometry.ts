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
  /** Where in the first bar the next segment is fetched; null if it is not known or not in it. */
  refill: { at: bigint; share: number; isPassed: boolean } | null;
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
  return { first, second: secondBar(two, secondLength, 1 - width), cursor, refill: refill(detail.refill_at, first, cursor) };
}

function secondBar(segment: TagDetail["segments"][number] | undefined, length: bigint, width: number): Bar | null {
  if (segment === undefined) return null;
  return { start: BigInt(segment.start), end: BigInt(segment.end), length, left: length, width, used: 0 };
}

function firstWidth(first: bigint, second: bigint): number {
  const proportional = share(first, first + second);
  return Math.min(Math.max(proportional, WIDTH_MIN), 1 - WIDTH_MIN);
}

function refill(refillAt: string | null, first: Bar, cursor: bigint): SegmentsGeometry["refill"] {
  if (refillAt === null) return null;
  const at = BigInt(refillAt);
  if (at < first.start || at > first.end) return null;
  return { at, share: share(at - first.start, first.length), isPassed: cursor >= at };
}

function clamp(number: bigint, low: bigint, high: bigint): bigint {
  if (number < low) return low;
  return number > high ? high : number;
}
