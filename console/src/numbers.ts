// How numbers are written: grouped digits, rates, shares, lengths of time. 64-bit numbers stay
// strings or BigInt all the way.
import type { Words } from "./words";

/** Digits in groups of three, for a whole number of any length. */
export function grouped(number: string | bigint | number): string {
  return String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** A whole number that may be typed as `1 000`, `1,000` or `1_000`; null if it is none. */
export function wholeNumber(text: string): bigint | null {
  const digits = text.replace(/[\s,_]/g, "");
  return /^\d{1,20}$/.test(digits) ? BigInt(digits) : null;
}

/** A rate per second, with as many digits as say something. */
export function rate(perSecond: number): string {
  if (perSecond === 0) return "0";
  if (perSecond < 0.01) return "<0.01";
  if (perSecond < 10) return trimmed(perSecond.toFixed(2));
  if (perSecond < 100) return trimmed(perSecond.toFixed(1));
  return grouped(Math.round(perSecond));
}

/** A number for the axis of a chart: 1.5k, 20M. */
export function compact(number: number): string {
  const units: [number, string][] = [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ];
  for (const [size, unit] of units) {
    if (Math.abs(number) >= size) return trimmed((number / size).toFixed(1)) + unit;
  }
  return trimmed(number.toFixed(2));
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A share in per cent; what is not all is never written as 100. */
export function percent(share: number): string {
  const tenths = Math.floor(Math.min(Math.max(share, 0), 1) * 1000) / 10;
  return `${tenths >= 10 ? Math.floor(tenths) : tenths}%`;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365.25 * DAY;

/** A length of time in its two largest units, rounded down: an operator counts on it. */
export function duration(seconds: number, words: Words): string {
  const { unit } = words;
  if (seconds < 0) return `-${duration(-seconds, words)}`;
  if (seconds < 1) return unit.milliseconds(Math.floor(seconds * 1000));
  if (seconds < 10) return unit.seconds((Math.floor(seconds * 10) / 10).toString());
  if (seconds < MINUTE) return unit.seconds(String(Math.floor(seconds)));
  const whole = Math.floor(seconds);
  if (seconds < HOUR) return two(whole, MINUTE, unit.minutes, 1, unit.seconds);
  if (seconds < DAY) return two(whole, HOUR, unit.hours, MINUTE, unit.minutes);
  if (seconds < YEAR) return two(whole, DAY, unit.days, HOUR, unit.hours);
  if (seconds >= 1000 * YEAR) return unit.over(unit.years("1,000"));
  return unit.years(grouped(Math.floor(seconds / YEAR)));
}

type Unit = (count: string) => string;

function two(seconds: number, large: number, largeName: Unit, small: number, smallName: Unit): string {
  const count = Math.floor(seconds / large);
  const rest = Math.floor((seconds - count * large) / small);
  const first = largeName(grouped(count));
  return rest === 0 ? first : `${first} ${smallName(String(rest))}`;
}

/** Days as a length of time. */
export function days(count: number, words: Words): string {
  return duration(count * DAY, words);
}
