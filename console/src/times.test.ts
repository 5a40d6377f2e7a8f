// Guards how points in time are written.
import { describe, expect, it } from "vitest";
import { calendarDate, clockTime, forecast, fromUnixMs, moment } from "./times";

const now = new Date(2026, 10, 23, 18, 5, 9);

describe("moment", () => {
  it("leaves out the date of today", () => {
    expect(moment(new Date(2026, 10, 23, 7, 4, 3), now)).toBe("07:04:03");
    expect(moment(new Date(2026, 10, 22, 23, 59, 59), now)).toBe("2026-11-22 23:59:59");
  });
  it("pads", () => {
    expect(clockTime(now)).toBe("18:05:09");
    expect(calendarDate(new Date(2026, 0, 2))).toBe("2026-01-02");
  });
});

describe("fromUnixMs", () => {
  it("reads the strings of the API", () => {
    expect(fromUnixMs("1795458782063").toISOString()).toBe("2026-11-23T18:33:02.063Z");
  });
});

describe("forecast", () => {
  it("names the day, and none that is beyond a century", () => {
    expect(forecast(10, now)).toBe("2026-12-03");
    expect(forecast(0, now)).toBe("2026-11-23");
    expect(forecast(36_524, now)).not.toBeNull();
    for (const days of [36_600, 3.5e11, Number.NaN, Infinity]) expect(forecast(days, now)).toBeNull();
  });
});
