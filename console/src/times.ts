// How points in time are written: in the browser's zone, with the date where it is not today.

const two = (number: number): string => String(number).padStart(2, "0");

export function clockTime(date: Date): string {
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export function calendarDate(date: Date): string {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Date and time, without the date on the day of `now`. */
export function moment(date: Date, now: Date): string {
  const day = calendarDate(date);
  return day === calendarDate(now) ? clockTime(date) : `${day} ${clockTime(date)}`;
}

/** Milliseconds since 1970 as the API writes them, in a string. */
export function fromUnixMs(unixMs: string): Date {
  return new Date(Number(unixMs));
}

const DAY_MS = 86_400_000;
const FORECAST_DAYS_MAX = 100 * 365.25;

/** The date that is so many days away; null beyond a hundred years, where it says nothing. */
export function forecast(days: number, now: Date): string | null {
  if (!(days <= FORECAST_DAYS_MAX)) return null;
  return calendarDate(new Date(now.getTime() + days * DAY_MS));
}
