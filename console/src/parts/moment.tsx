// A point in time on the page, with the exact one on hover.
import { moment } from "../times";

export function Moment({ date }: { date: Date }) {
  if (Number.isNaN(date.getTime())) return <>–</>;
  return (
    <time dateTime={date.toISOString()} title={date.toISOString()}>
      {moment(date, new Date())}
    </time>
  );
}
