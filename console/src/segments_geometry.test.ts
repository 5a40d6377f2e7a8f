// Guards the picture of the segments: where cursor and refill lie, to the digit, up to 64 bits.
import { describe, expect, it } from "vitest";
import { geometry, share, WIDTH_MIN } from "./segments_geometry";

const one = { start: "1", end: "1001" };

describe("share", () => {
  it("is exact where floating point is not", () => {
    expect(share(9_223_372_036_854_775_806n, 9_223_372_036_854_775_807n)).toBeLessThan(1);
    expect(share(1n, 3n)).toBe(0.333333);
  });
  it("stays from 0 to 1", () => {
    expect([share(-5n, 10n), share(15n, 10n), share(1n, 0n)]).toEqual([0, 1, 0]);
  });
});

describe("geometry", () => {
  it("has nothing without a segment", () => {
    expect(geometry({ segments: [], cursor: null, refill_at: null }).first).toBeNull();
  });

  it("places cursor and refill in the first segment", () => {
    const picture = geometry({ segments: [one], cursor: "513", refill_at: "901" });
    expect(picture.first).toMatchObject({ length: 1000n, left: 488n, used: 0.512 });
    expect(picture.refill).toEqual({ at: 901n, bar: "first", share: 0.9, isPassed: false, ids: 388n });
    expect(picture.second).toBeNull();
  });

  it("says that the refill is passed at its number, not only after it", () => {
    expect(geometry({ segments: [one], cursor: "901", refill_at: "901" }).refill?.isPassed).toBe(true);
  });

  it("places the refill in the second segment, also one that is not adjacent", () => {
    const segments = [one, { start: "5001", end: "7001" }];
    const picture = geometry({ segments, cursor: "513", refill_at: "5201" });
    expect(picture.refill).toEqual({ at: 5201n, bar: "second", share: 0.1, isPassed: false, ids: 688n });
  });

  it("gives the bars widths as their lengths, within what can be read", () => {
    const equal = geometry({ segments: [one, { start: "1001", end: "2001" }], cursor: "1", refill_at: null });
    expect([equal.first?.width, equal.second?.width]).toEqual([0.5, 0.5]);
    const longer = geometry({ segments: [one, { start: "1001", end: "10001001" }], cursor: "1", refill_at: null });
    expect(longer.first?.width).toBe(WIDTH_MIN);
    expect((longer.first?.width ?? 0) + (longer.second?.width ?? 0)).toBe(1);
  });

  it("keeps a cursor outside the segment inside the picture", () => {
    expect(geometry({ segments: [one], cursor: "0", refill_at: null }).first?.used).toBe(0);
    expect(geometry({ segments: [one], cursor: "5000", refill_at: null }).first).toMatchObject({ left: 0n, used: 1 });
    expect(geometry({ segments: [one], cursor: null, refill_at: "5000" })).toMatchObject({ cursor: 1n, refill: null });
  });

  it("counts at the end of 64 bits", () => {
    const last = { start: "9223372036854774807", end: "9223372036854775807" };
    const picture = geometry({ segments: [last], cursor: "9223372036854775806", refill_at: null });
    expect(picture.first).toMatchObject({ left: 1n, used: 0.999 });
  });
});
