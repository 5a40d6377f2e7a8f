// Events of the server or of one tag, newest first. Errors are red, because a person is needed.
import { tagLink } from "../route";
import type { ServerEvent } from "../shapes";
import { fromUnixMs } from "../times";
import { useWords } from "../words";
import { LevelMark } from "./level_mark";
import { Moment } from "./moment";

interface EventsListProps {
  events: readonly ServerEvent[];
  empty: string;
  isOfTag?: boolean;
}

export function EventsList({ events, empty, isOfTag }: EventsListProps) {
  const words = useWords();
  if (events.length === 0) return <p class="empty">{empty}</p>;
  return (
    <ol class="events" data-testid="events" aria-label={words.overview.events}>
      {events.map((event) => (
        <li key={`${event.unix_ms} ${event.what} ${event.tag ?? ""} ${event.text}`} class={event.level}>
          <Moment date={fromUnixMs(event.unix_ms)} />
          <LevelMark level={event.level} />
          <span class="event-text">
            {event.tag !== null && isOfTag !== true && (
              <>
                <a href={tagLink(event.tag)}>{event.tag}</a>{" "}
              </>
            )}
            {event.text}
            <code class="event-what">{event.what}</code>
          </span>
        </li>
      ))}
    </ol>
  );
}
