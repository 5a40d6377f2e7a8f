// The overview: how long every tag could live without its store, the rates, and the state of all
// that the server stands on.
import { Chart, type ChartPoint } from "../parts/chart";
import { EventsList } from "../parts/events_list";
import { useHistory } from "../history";
import { duration, rate } from "../numbers";
import { tagLink } from "../route";
import type { HistoryPoint, Overview } from "../shapes";
import { useWords, type Words } from "../words";
import { ServerPanels } from "./overview_panels";

const SPAN_SECONDS = 30 * 60;

export function OverviewPage({ overview }: { overview: Overview | null }) {
  const words = useWords();
  const points = useHistory(overview);
  if (overview === null) return <p class="empty">{words.common.loading}</p>;
  return (
    <>
      <h1 class="unseen">{words.pages.overview}</h1>
      {overview.server.reasons.length > 0 && <Reasons overview={overview} />}
      <div class="rates">
        <CoverPanel overview={overview} points={points} />
        <RatePanel
          name={words.overview.idsPerSecond}
          testid="ids-per-second"
          value={overview.ids_per_second}
          points={line(points, (point) => point.ids_per_second)}
          height={112}
        />
        <RatePanel
          name={words.overview.requestsPerSecond}
          testid="requests-per-second"
          value={requests(overview)}
          points={line(points, (point) => point.requests_per_second)}
          note={`HTTP ${rate(overview.requests_per_second.http)} · Redis ${rate(overview.requests_per_second.resp)} · gRPC ${rate(overview.requests_per_second.grpc)}`}
          height={84}
        />
        <RatePanel
          name={words.overview.errorsPerSecond}
          testid="errors-per-second"
          value={overview.errors_per_second}
          points={line(points, (point) => point.errors_per_second)}
          isAlarm={overview.errors_per_second > 0}
          note=" "
          height={84}
        />
      </div>
      <ServerPanels overview={overview} />
      <section class="panel">
        <h2>{words.overview.events}</h2>
        <EventsList events={overview.events} empty={words.overview.noEvents} />
      </section>
    </>
  );
}

function requests({ requests_per_second: { http, resp, grpc } }: Overview): number {
  return http + resp + grpc;
}

function line(points: readonly HistoryPoint[], value: (point: HistoryPoint) => number | null): ChartPoint[] {
  return points.map((point) => ({ unixMs: Number(point.unix_ms), value: value(point) }));
}

function Reasons({ overview }: { overview: Overview }) {
  const words = useWords();
  return (
    <div class="problem" role="alert" data-testid="not-ready">
      <b>{overview.server.ready ? words.overview.reasonsReady : words.overview.reasons}</b>
      <ul>
        {overview.server.reasons.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
    </div>
  );
}

/** The number that an operator wants, large. */
function CoverPanel({ overview, points }: { overview: Overview; points: readonly HistoryPoint[] }) {
  const words = useWords();
  const { seconds, tag, age_seconds: age } = overview.cover;
  const isDown = overview.store?.state === "down" && seconds !== null;
  const meaning = isDown ? words.overview.coverDown : words.overview.coverMeaning;
  return (
    <section class={isDown ? "panel cover alarm" : "panel cover"}>
      <h2>{words.overview.cover}</h2>
      <p class="huge" data-testid="cover">
        {seconds === null ? "–" : duration(seconds, words)}
      </p>
      <p class="meaning">{seconds === null ? words.overview.coverNone : meaning}</p>
      {tag !== null && (
        <p class="meaning">
          {words.overview.coverShortest}{" "}
          <a href={tagLink(tag)} data-testid="cover-tag">
            {tag}
          </a>
          {age > 10 && ` · ${words.overview.coverAge(duration(age, words))}`}
        </p>
      )}
      <Chart
        name={words.overview.cover}
        points={line(points, (point) => point.cover_seconds)}
        format={(value) => duration(value, words)}
        axis={(seconds) => axisDuration(seconds, words)}
        steps={DURATION_STEPS}
        tone={isDown ? "alarm" : "accent"}
        spanSeconds={SPAN_SECONDS}
      />
    </section>
  );
}

const MINUTES = [1, 2, 5, 10, 20, 30, 60, 120, 240, 480, 720, 1_440, 2_880, 7_200, 14_400, 43_200, 144_000, 525_600];
const DURATION_STEPS = [1, 2, 5, 10, 20, 30, ...MINUTES.map((minutes) => minutes * 60)];

/** Seconds at an axis: one unit, few letters. */
function axisDuration(seconds: number, { unit }: Words): string {
  if (seconds >= 86_400 * 2) return unit.days(String(Math.round(seconds / 86_400)));
  if (seconds >= 7_200) return unit.hours(String(Math.round(seconds / 3_600)));
  if (seconds >= 120) return unit.minutes(String(Math.round(seconds / 60)));
  return unit.seconds(String(Math.round(seconds)));
}

interface RatePanelProps {
  name: string;
  testid: string;
  value: number;
  points: ChartPoint[];
  height: number;
  note?: string;
  isAlarm?: boolean;
}

function RatePanel({ name, testid, value, points, height, note, isAlarm }: RatePanelProps) {
  const words = useWords();
  const alarm = isAlarm === true;
  return (
    <section class={`panel rate ${testid}`}>
      <h2>{name}</h2>
      <p class={alarm ? "large alarm" : "large"} data-testid={testid}>
        {rate(value)}
      </p>
      {note !== undefined && <p class="meaning">{note}</p>}
      <Chart
        name={name}
        points={points}
        height={height}
        format={(value) => rate(value) + words.unit.perSecond}
        tone={alarm ? "alarm" : testid === "ids-per-second" ? "accent" : "quiet"}
        spanSeconds={SPAN_SECONDS}
      />
    </section>
  );
}
