// The picture of a tag's two segments: what is left of each, the cursor, and where the next one is
// fetched. It is drawn anew with each event of the stream.
import { duration, grouped, percent } from "../numbers";
import { type Bar, geometry, type Refill, type SegmentsGeometry, WIDTH_MIN } from "../segments_geometry";
import type { TagDetail } from "../shapes";
import { useWords, type Words } from "../words";

const inPercent = (share: number): string => `${(share * 100).toFixed(4)}%`;

/** A label that stays inside its bar, wherever its place is. */
const labelAt = (share: number) => ({ left: inPercent(share), transform: `translateX(-${inPercent(share)})` });

export function SegmentsPicture({ detail, isStoreDown }: { detail: TagDetail; isStoreDown: boolean }) {
  const words = useWords();
  const picture = geometry(detail);
  const { first, second, cursor, refill } = picture;
  if (first === null || cursor === null) {
    return (
      <div class="segments">
        <div class="segment absent" data-testid="segment-first">
          <div class="bar placeholder">{isStoreDown ? words.tag.storeDownIdle : words.tag.noSegment}</div>
        </div>
      </div>
    );
  }
  const isAlarm = isStoreDown && second === null;
  return (
    <figure class={isAlarm ? "segments ending" : "segments"} data-testid="segments">
      <div class="bars">
        <div class="segment" key={String(first.start)} style={{ flexGrow: first.width }} data-testid="segment-first">
          <Heading title={words.tag.first} bar={first} words={words} />
          <RefillLabel refill={refill?.bar === "first" && second === null ? refill : null} words={words} />
          <div class="bar">
            <div class="used" style={{ width: inPercent(first.used) }} />
            <div class="left" style={{ width: inPercent(1 - first.used) }} />
            {refill?.bar === "first" && <RefillMark refill={refill} />}
            <div class="cursor" style={{ left: inPercent(first.used) }} />
          </div>
          <div class="below">
            <span class="cursor-label" style={labelAt(first.used)}>
              {words.tag.cursor} <b data-testid="segment-cursor">{grouped(cursor)}</b>
            </span>
          </div>
          <Scale bar={first} />
        </div>
        <Second bar={second} refill={refill?.bar === "second" ? refill : null} words={words} />
      </div>
      <figcaption data-testid="segments-caption">{caption(picture, detail, isAlarm, words)}</figcaption>
    </figure>
  );
}

function Second({ bar, refill, words }: { bar: Bar | null; refill: Refill | null; words: Words }) {
  if (bar === null) {
    return (
      <div class="segment absent" style={{ flexGrow: WIDTH_MIN }} data-testid="segment-second">
        <div class="segment-head">
          <b>{words.tag.second}</b>
        </div>
        <div class="above" />
        <div class="bar placeholder">{words.tag.noSecond}</div>
      </div>
    );
  }
  return (
    <div class="segment" style={{ flexGrow: bar.width }} data-testid="segment-second">
      <Heading title={words.tag.second} bar={bar} words={words} />
      <RefillLabel refill={refill} words={words} />
      <div class="bar next">
        <div class="left" style={{ width: "100%" }} />
        {refill !== null && <RefillMark refill={refill} />}
      </div>
      <div class="below" />
      <Scale bar={bar} />
    </div>
  );
}

function RefillLabel({ refill, words }: { refill: Refill | null; words: Words }) {
  return (
    <div class="above">
      {refill !== null && (
        <span style={labelAt(refill.share)}>
          {words.tag.refill} {grouped(refill.at)}
        </span>
      )}
    </div>
  );
}

function RefillMark({ refill }: { refill: Refill }) {
  return <div class={refill.isPassed ? "refill passed" : "refill"} style={{ left: inPercent(refill.share) }} />;
}

function Heading({ title, bar, words }: { title: string; bar: Bar; words: Words }) {
  return (
    <div class="segment-head">
      <b>{title}</b>
      <span>
        {bar.used === 0
          ? words.tag.whole(grouped(bar.length))
          : `${words.tag.left(grouped(bar.left), grouped(bar.length))} (${percent(1 - bar.used)})`}
      </span>
    </div>
  );
}

function Scale({ bar }: { bar: Bar }) {
  return (
    <div class="scale">
      <span>{grouped(bar.start)}</span>
      <span>{grouped(bar.end - 1n)}</span>
    </div>
  );
}

/** What happens next, in words. */
function caption(picture: SegmentsGeometry, detail: TagDetail, isAlarm: boolean, words: Words): string {
  const rate = detail.tag.live?.rate ?? null;
  const cover = detail.tag.live?.cover_seconds ?? null;
  if (isAlarm) return cover === null ? words.tag.storeDownIdle : words.tag.storeDown(duration(cover, words));
  const { refill, second } = picture;
  const hasSecond = second !== null;
  if (refill === null || (hasSecond && refill.bar === "first")) return hasSecond ? words.tag.refillDone : "";
  if (refill.isPassed) return words.tag.refillNow;
  const ids = grouped(refill.ids);
  const time = rate === null || rate <= 0 ? null : duration(Number(refill.ids) / rate, words);
  return hasSecond ? words.tag.refillThen(ids, time) : words.tag.refillIn(ids, time);
}
