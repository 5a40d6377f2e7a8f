// One tag: its two segments, what can be done with it, its rate and headroom, and its past.
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../api";
import type { Live } from "../live";
import { Chart, type ChartPoint } from "../parts/chart";
import { EventsList } from "../parts/events_list";
import { ProblemNote } from "../parts/problem_note";
import { SegmentsPicture } from "../parts/segments_picture";
import { duration, grouped, rate } from "../numbers";
import { pageLink } from "../route";
import type { TagDetail } from "../shapes";
import { forecast } from "../times";
import { useWords } from "../words";
import { Reservations } from "./reservations";
import { TagActions } from "./tag_actions";
import { TagPanels } from "./tag_panels";

export function TagPage({ name, live }: { name: string; live: Live }) {
  const words = useWords();
  const detail = live.tag?.tag.tag === name ? live.tag : null;
  return (
    <>
      <p class="crumb">
        <a href={pageLink("tags")}>← {words.tag.back}</a>
      </p>
      <h1 class="tag-title" data-testid="tag-title">
        {name}
      </h1>
      {live.tagProblem !== null && <ProblemNote problem={new Problem(live.tagProblem.status ?? 0, live.tagProblem)} />}
      {detail === null && live.tagProblem === null && <p class="empty">{words.common.loading}</p>}
      {detail !== null && <Content detail={detail} isStoreDown={live.overview?.store?.state === "down"} />}
    </>
  );
}

function Content({ detail, isStoreDown }: { detail: TagDetail; isStoreDown: boolean }) {
  const words = useWords();
  const { tag } = detail;
  return (
    <>
      {tag.description !== null && <p class="description">{tag.description}</p>}
      <TagActions tag={tag} />
      {(tag.warnings ?? []).length > 0 && (
        <section class="panel" data-testid="warnings">
          <h2>{words.tag.warnings}</h2>
          <ul class="plain">
            {(tag.warnings ?? []).map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        </section>
      )}
      <section class="panel">
        <h2>{words.tag.segments}</h2>
        {tag.kind === "segment" ? (
          <SegmentsPicture detail={detail} isStoreDown={isStoreDown} />
        ) : (
          <p class="empty">{words.tag.noSegmentsKind}</p>
        )}
        {tag.kind === "segment" && tag.live === null && <p class="hint">{words.tag.notInUse}</p>}
      </section>
      <Rates detail={detail} isStoreDown={isStoreDown} />
      <TagPanels detail={detail} />
      {tag.kind === "segment" && <Reservations reservations={detail.reservations} />}
      <section class="panel">
        <h2>{words.tag.events}</h2>
        <EventsList events={detail.events} empty={words.tag.noEvents} isOfTag />
      </section>
    </>
  );
}

const POINTS_MAX = 1_800;

/** The rate since the page was opened: the server keeps no history of a single tag. */
function useRatePoints(detail: TagDetail): ChartPoint[] {
  const [points, setPoints] = useState<ChartPoint[]>([]);
  const value = detail.tag.live?.rate ?? null;
  const last = useRef(detail);
  useEffect(() => {
    last.current = detail;
    setPoints((points) => [...points.slice(-POINTS_MAX), { unixMs: Date.now(), value }]);
  }, [detail]);
  return points;
}

function Rates({ detail, isStoreDown }: { detail: TagDetail; isStoreDown: boolean }) {
  const words = useWords();
  const points = useRatePoints(detail);
  const live = detail.tag.live;
  return (
    <div class="tag-rates">
      <section class="panel">
        <h2>
          {words.tag.rate} <small class="hint">{words.tag.sinceOpen}</small>
        </h2>
        <p class="large" data-testid="tag-rate">
          {live?.rate == null ? "–" : rate(live.rate)}
        </p>
        <Chart
          name={words.tag.rate}
          points={points}
          height={84}
          format={(value) => rate(value) + words.unit.perSecond}
          spanSeconds={60}
        />
      </section>
      {detail.tag.kind === "segment" && (
        <>
          <section class="panel">
            <h2>{words.tag.covers}</h2>
            <p class={isStoreDown ? "large alarm" : "large"} data-testid="tag-cover">
              {live?.cover_seconds == null ? "–" : duration(live.cover_seconds, words)}
            </p>
            <p class="meaning">{words.tag.coverMeaning}</p>
          </section>
          <Headroom detail={detail} />
        </>
      )}
    </div>
  );
}

function Headroom({ detail }: { detail: TagDetail }) {
  const words = useWords();
  const live = detail.tag.live;
  // So many days that the server has no number for them.
  const isEndless = live?.headroom_days == null && (live?.rate ?? 0) > 0 && live?.headroom != null;
  const daysLeft = isEndless ? Infinity : (live?.headroom_days ?? null);
  const date = daysLeft === null ? null : forecast(daysLeft, new Date());
  const isSoon = daysLeft !== null && daysLeft < 30;
  const text = daysLeft === null ? words.tag.noRate : date === null ? words.tag.runsOutLate : words.tag.runsOut(date);
  return (
    <section class="panel">
      <h2>{words.tag.headroom}</h2>
      <p class={isSoon ? "large alarm" : "large"} data-testid="tag-headroom">
        {daysLeft === null ? "–" : duration(daysLeft * 86_400, words)}
      </p>
      {live?.headroom != null && <p class="meaning">{words.tag.headroomIds(grouped(live.headroom))}</p>}
      <p class={isSoon ? "meaning alarm" : "meaning"} data-testid="tag-forecast">
        {text}
      </p>
    </section>
  );
}
