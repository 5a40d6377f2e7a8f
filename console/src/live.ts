// What the server tells each second (server-sent events), while the page is visible; and whether
// it answers at all. One stream per page: the overview, and the tag that is looked at.
import { useEffect, useState } from "preact/hooks";
import { api, reportOutcomesTo } from "./api";
import type { Overview, ProblemDocument, TagDetail } from "./shapes";

export interface Live {
  overview: Overview | null;
  /** The state of the tag that is looked at; null until it came. */
  tag: TagDetail | null;
  /** Why there is no state of the tag. */
  tagProblem: ProblemDocument | null;
  /** When the server answered last, if it no longer does. */
  lostSince: Date | null;
}

/** So long without any word, the server is taken for lost. The stream speaks each second. */
const SILENCE_MS = 4_000;
const RETRY_MS = 2_000;
const FAILURES_MAX = 2;

let live: Live = { overview: null, tag: null, tagProblem: null, lostSince: null };
let source: EventSource | null = null;
let watched: string | null = null;
let isRunning = false;
let lastAnswer = Date.now();
let openedAt = 0;
let onUnauthorized: () => void = () => {};
const readers = new Set<(live: Live) => void>();

const isVisible = (): boolean => document.visibilityState !== "hidden";

function update(change: Partial<Live>): void {
  live = { ...live, ...change };
  for (const reader of readers) reader(live);
}

function answered(): void {
  lastAnswer = Date.now();
  if (live.lostSince !== null) update({ lostSince: null });
}

function lost(): void {
  if (live.lostSince === null) update({ lostSince: new Date(lastAnswer) });
}

function open(): void {
  source?.close();
  openedAt = Date.now();
  const query = watched === null ? "" : `?tag=${encodeURIComponent(watched)}`;
  const opened = new EventSource(`/console/live${query}`);
  source = opened;
  let failures = 0;
  opened.onopen = () => (failures = 0);
  opened.onerror = () => {
    // The stream ends by itself now and then, and the browser opens it again at once. Of a server
    // that is gone it would ask five times a second, so `check` takes over.
    failures += 1;
    if (failures >= FAILURES_MAX) opened.close();
  };
  const on = (name: string, receive: (text: string) => void) => {
    opened.addEventListener(name, (event) => {
      if (source !== opened) return;
      answered();
      receive((event as MessageEvent<string>).data);
    });
  };
  on("overview", (text) => update({ overview: JSON.parse(text) as Overview }));
  on("tag", (text) => {
    const detail = JSON.parse(text) as TagDetail;
    if (detail.tag.tag === watched) update({ tag: detail, tagProblem: null });
  });
  on("problem", (text) => {
    // The stream ends after a problem. `check` opens the next one, with a pause.
    opened.close();
    openedAt = Date.now();
    update({ tagProblem: JSON.parse(text) as ProblemDocument });
  });
}

/** Opens the stream again if it ended for good or fell silent, and asks why. */
async function check(): Promise<void> {
  if (!isRunning || !isVisible()) return;
  const now = Date.now();
  const silence = now - Math.max(lastAnswer, openedAt);
  const isClosed = source === null || source.readyState === EventSource.CLOSED;
  if (silence < SILENCE_MS && !isClosed) return;
  if (now - openedAt < RETRY_MS) return;
  openedAt = now;
  try {
    // The stream hides the reason; the session tells a lost login from a lost server.
    const session = await api.session();
    if (session.needs_token && session.token === null) return onUnauthorized();
  } catch {
    return;
  }
  if (isRunning && isVisible()) open();
}

function onVisibility(): void {
  if (!isRunning) return;
  if (!isVisible()) {
    source?.close();
    source = null;
  } else {
    lastAnswer = live.lostSince === null ? Date.now() : lastAnswer;
    open();
  }
}

reportOutcomesTo((outcome) => {
  if (outcome === "unreachable") lost();
  else answered();
  if (outcome === "unauthorized") onUnauthorized();
});
document.addEventListener("visibilitychange", onVisibility);
setInterval(() => void check(), 1_000);

/** Starts the stream, also that of a tag, as long as the component is there. */
export function useStream(isLoggedIn: boolean, tag: string | null, unauthorized: () => void): void {
  useEffect(() => {
    onUnauthorized = unauthorized;
    isRunning = isLoggedIn;
    watched = tag;
    if (live.tag?.tag.tag !== tag) update({ tag: null, tagProblem: null });
    if (isLoggedIn && isVisible()) open();
    return () => {
      isRunning = false;
      source?.close();
      source = null;
    };
  }, [isLoggedIn, tag]);
}

/** Takes a state of the tag that came outside the stream, such as after a change. */
export function showTag(detail: TagDetail): void {
  if (detail.tag.tag === watched) update({ tag: detail, tagProblem: null });
}

export function useLive(): Live {
  const [state, setState] = useState(live);
  useEffect(() => {
    readers.add(setState);
    setState(live);
    return () => void readers.delete(setState);
  }, []);
  return state;
}
