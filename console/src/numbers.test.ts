// Guards how numbers are written: an operator reads a cover or a headroom from them.
import { describe, expect, it } from "vitest";
import { compact, days, duration, grouped, percent, rate, wholeNumber } from "./numbers";
import { en } from "./words/en";
import { zh } from "./words/zh";

describe("grouped", () => {
  it("keeps every digit of a 64-bit number", () => {
    expect(grouped("9223372036854775807")).toBe("9,223,372,036,854,775,807");
    expect(grouped(18446744073709551615n)).toBe("18,446,744,073,709,551,615");
    expect(grouped(999)).toBe("999");
    expect(grouped("1000")).toBe("1,000");
  });
});

describe("wholeNumber", () => {
  it("reads grouped digits, and nothing else", () => {
    expect(wholeNumber(" 1,000_000 ")).toBe(1_000_000n);
    expect(wholeNumber("9223372036854775807")).toBe(9_223_372_036_854_775_807n);
    for (const text of ["", "-1", "1.5", "1e3", "0x10", "ten"]) expect(wholeNumber(text)).toBeNull();
  });
});

describe("rate", () => {
  it("has as many digits as say something", () => {
    expect([0, 0.001, 0.25, 5, 48.25, 51_234.5].map(rate)).toEqual(["0", "<0.01", "0.25", "5", "48.3", "51,235"]);
  });
});

describe("compact", () => {
  it("fits an axis", () => {
    expect([0, 0.5, 900, 1_500, 20_000, 2e6, 3e9].map(compact)).toEqual(["0", "0.5", "900", "1.5k", "20k", "2M", "3G"]);
  });
});

describe("percent", () => {
  it("never claims all of what is not all, nor more", () => {
    expect([0, 0.0345, 0.5, 0.9999, 1, 1.2, -1].map(percent)).toEqual([
      "0%",
      "3.4%",
      "50%",
      "99%",
      "100%",
      "100%",
      "0%",
    ]);
  });
});

describe("duration", () => {
  it("rounds down, because one counts on it", () => {
    const lengths: [number, string][] = [
      [0, "0 ms"],
      [0.9999, "999 ms"],
      [9.99, "9.9 s"],
      [59.9, "59 s"],
      [60, "1 min"],
      [812.2, "13 min 32 s"],
      [7_199, "1 h 59 min"],
      [90_000, "1 d 1 h"],
      [86_400 * 366, "1 year"],
      [86_400 * 366 * 5, "5 years"],
      [1e15, "over 1,000 years"],
      [-2.4, "-2.4 s"],
    ];
    for (const [seconds, text] of lengths) expect(duration(seconds, en)).toBe(text);
  });
  it("speaks Chinese", () => {
    expect(duration(812.2, zh)).toBe("13 分 32 秒");
    expect(days(400, zh)).toBe("1 年");
  });
});
