// A small chart over time, drawn by uPlot: one line, its present value in words beside it, and for
// screen readers a sentence in place of the picture.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { compact } from "../numbers";
import { colour } from "../theme";
import { clockTime } from "../times";
import { useWords } from "../words";

export interface ChartPoint {
  unixMs: number;
  value: number | null;
}

interface ChartProps {
  name: string;
  points: readonly ChartPoint[];
  /** In pixels; without it the chart fills its place. */
  height?: number;
  /** How a value is written where the pointer is. */
  format: (value: number) => string;
  /** How a value is written at the axis. */
  axis?: (value: number) => string;
  /** How far apart the marks of the axis may be; else round numbers. */
  steps?: number[];
  /** The style of the line: the accent colour if nothing is said. */
  tone?: "accent" | "quiet" | "alarm";
  isDots?: boolean;
  /** How long a time the chart shows at least. */
  spanSeconds?: number;
}

const TONES = { accent: "--accent", quiet: "--muted", alarm: "--alarm" };

export function Chart(props: ChartProps) {
  const words = useWords();
  const frame = useRef<HTMLDivElement>(null);
  const readout = useRef<HTMLParagraphElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const place = frame.current;
    if (place === null) return undefined;
    const made = new uPlot(options(sizeOf(place, latest.current), latest, readout), series(latest.current), place);
    plot.current = made;
    const observer = new ResizeObserver(() => {
      if (place.clientWidth > 0) made.setSize(sizeOf(place, latest.current));
    });
    observer.observe(place);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, []);
  const isBare = props.points.every((point) => point.value === null);
  useEffect(() => plot.current?.setData(series(props)), [props.points]);
  return (
    <div class={`chart ${props.height === undefined ? "filling" : ""} ${isBare ? "bare" : ""}`}>
      {isBare && <p class="none-yet">{words.chart.noValues}</p>}
      <p class="readout" ref={readout} aria-hidden="true" />
      <div class="plot" ref={frame} role="img" aria-label={summary(props, words)} />
    </div>
  );
}

function sizeOf(place: HTMLElement, { height }: ChartProps): { width: number; height: number } {
  return { width: place.clientWidth, height: height ?? place.clientHeight };
}

function series({ points, spanSeconds }: ChartProps): uPlot.AlignedData {
  const times = points.map((point) => point.unixMs / 1000);
  const values = points.map((point) => point.value);
  const last = times[times.length - 1];
  const first = times[0];
  // An empty first point stretches the axis to its span.
  if (last !== undefined && first !== undefined && spanSeconds !== undefined && last - first < spanSeconds) {
    return [
      [last - spanSeconds, ...times],
      [null, ...values],
    ];
  }
  return [times, values];
}

function summary({ name, points, format }: ChartProps, words: ReturnType<typeof useWords>): string {
  const values = points.map((point) => point.value).filter((value) => value !== null);
  const now = values[values.length - 1];
  if (now === undefined) return words.chart.empty(name);
  return words.chart.summary(name, format(now), format(Math.min(...values)), format(Math.max(...values)));
}

type Reference<T> = { current: T };

function options(
  size: { width: number; height: number },
  props: Reference<ChartProps>,
  readout: Reference<HTMLParagraphElement | null>,
): uPlot.Options {
  const tone = () => colour(TONES[props.current.tone ?? "accent"]);
  const axis: uPlot.Axis = {
    stroke: () => colour("--muted"),
    grid: { stroke: () => colour("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  return {
    ...size,
    legend: { show: false },
    padding: [6, 24, 0, 0],
    cursor: { y: false, drag: { setScale: false }, points: { size: 6, fill: () => tone() } },
    scales: { y: { range: (_plot, low, high) => [Math.min(0, low ?? 0), niceTop(high)] } },
    axes: [
      { ...axis, size: 24, gap: 6, space: 70, values: (_plot, ticks) => timeTicks(ticks) },
      {
        ...axis,
        size: 46,
        gap: 6,
        space: 26,
        ...(props.current.steps === undefined ? {} : { incrs: props.current.steps }),
        values: (_plot, ticks) => ticks.map((tick) => (props.current.axis ?? compact)(tick)),
      },
    ],
    series: [
      {},
      {
        stroke: () => tone(),
        width: 1.5,
        fill: () => `color-mix(in srgb, ${tone()} 12%, transparent)`,
        spanGaps: false,
        points: { ...(props.current.isDots === true ? { show: true } : {}), size: 5, fill: () => tone() },
      },
    ],
    hooks: { setCursor: [(plot) => showReadout(plot, props.current, readout.current)] },
  };
}

function niceTop(high: number | null): number {
  return high === null || high <= 0 ? 1 : high * 1.08;
}

/** Seconds are written only where the ticks are closer than a minute. */
function timeTicks(ticks: number[]): string[] {
  const apart = (ticks[1] ?? Infinity) - (ticks[0] ?? 0);
  const letters = apart < 60 ? 8 : 5;
  return ticks.map((tick) => clockTime(new Date(tick * 1000)).slice(0, letters));
}

function showReadout(plot: uPlot, props: ChartProps, place: HTMLElement | null): void {
  if (place === null) return;
  const index = plot.cursor.idx;
  const time = index === null || index === undefined ? undefined : plot.data[0][index];
  const value = index === null || index === undefined ? undefined : plot.data[1]?.[index];
  const isShown = time !== undefined && value !== undefined && value !== null;
  place.textContent = isShown ? `${clockTime(new Date(time * 1000))}  ${props.format(value)}` : "";
}
