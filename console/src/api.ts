// Calls to the server: each returns what was answered, or throws a `Problem`. It also reports, for
// the banner and the login page, whether the server answered at all and knew the caller.
import type {
  Change,
  ClusterServer,
  Decoded,
  Finding,
  History,
  ProblemDocument,
  Quota,
  Session,
  Tag,
  TagDetail,
  TagPage,
  Workers,
} from "./shapes";

/** A refused call, as the server explains it; `status` is 0 if no answer came. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly next: string | null;

  constructor(status: number, document: ProblemDocument) {
    super(document.detail ?? document.title ?? `HTTP ${status}`);
    this.status = status;
    this.code = document.code ?? "";
    this.next = document.next ?? null;
  }
}

/** Called with each outcome that says something about the connection as a whole. */
export type Outcome = "answered" | "unreachable" | "unauthorized";
let report: (outcome: Outcome) => void = () => {};

export function reportOutcomesTo(receiver: (outcome: Outcome) => void): void {
  report = receiver;
}

const TIMEOUT_MS = 15_000;

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const headers: Record<string, string> = { accept: "application/json" };
  // Every change declares JSON, also without a body: the server asks for it.
  if (method !== "GET") headers["content-type"] = "application/json";
  const init: RequestInit = { method, headers, signal: AbortSignal.timeout(TIMEOUT_MS) };
  if (body !== undefined) init.body = JSON.stringify(body);
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, init);
    text = await response.text();
  } catch {
    report("unreachable");
    throw new Problem(0, { code: "unreachable", detail: "" });
  }
  report("answered");
  if (response.ok) return (text === "" ? null : JSON.parse(text)) as T;
  const problem = new Problem(response.status, problemOf(text));
  const isLogin = path === "/console/session" && method === "POST";
  if (response.status === 401 && !isLogin) report("unauthorized");
  throw problem;
}

function problemOf(text: string): ProblemDocument {
  try {
    return JSON.parse(text) as ProblemDocument;
  } catch {
    return text === "" ? {} : { detail: text.slice(0, 300) };
  }
}

const tagPath = (tag: string): string => `/v1/tags/${encodeURIComponent(tag)}`;

/** What a new tag is made of; a field that is left out has the server's default. */
export interface NewTag {
  tag: string;
  kind?: string;
  format?: string;
  start?: string;
  step?: number;
  limit?: string;
  description?: string;
}

/** Changed fields of a tag; null restores the default. */
export interface TagChange {
  step?: number | null;
  policy?: { name: string; step_max?: number; cover_seconds?: number } | null;
  limit?: string | null;
  description?: string | null;
  next?: string;
}

export interface TagQuery {
  sort: string;
  search: string;
  after: string | null;
  offset: number;
  limit: number;
}

export const api = {
  session: () => call<Session>("GET", "/console/session"),
  logIn: (token: string) => call<Session>("POST", "/console/session", { token }),
  logOut: () => call<null>("DELETE", "/console/session"),
  history: () => call<History>("GET", "/console/history"),
  tags: (query: TagQuery) => call<TagPage>("GET", `/console/tags?${tagQuery(query)}`),
  tag: (tag: string) => call<TagDetail>("GET", `/console/tags/${encodeURIComponent(tag)}`),
  workers: () => call<Workers>("GET", "/console/workers"),
  servers: () => call<{ servers: ClusterServer[] }>("GET", "/console/servers"),
  findings: () => call<{ findings: Finding[] }>("GET", "/console/findings"),
  createTag: (tag: NewTag) => call<Tag>("POST", "/v1/tags", tag),
  changeTag: (tag: string, change: TagChange) => call<Tag>("PATCH", tagPath(tag), change),
  deleteTag: (tag: string) => call<null>("DELETE", tagPath(tag)),
  takeIds: (tag: string, count: number) => call<{ ids: string[] }>("POST", `${tagPath(tag)}/ids`, { count }),
  decode: (id: string, tag: string) => call<Decoded>("GET", decodePath(id, tag)),
  quotas: () => call<{ quotas: Quota[] }>("GET", "/v1/quotas"),
  setQuota: (on: Quota["on"], name: string | null, idsPerSecond: number) =>
    call<Quota>("PUT", quotaPath(on, name), { ids_per_second: idsPerSecond }),
  removeQuota: (on: Quota["on"], name: string | null) => call<null>("DELETE", quotaPath(on, name)),
  releaseWorker: (worker: number) => call<null>("POST", `/v1/workers/${worker}/release`, { dead: true }),
  acceptClock: () => call<null>("POST", "/v1/clock/accept"),
  audit: (limit: number) => call<{ changes: Change[] }>("GET", `/v1/audit?limit=${limit}`),
};

function tagQuery(query: TagQuery): string {
  const parameters = new URLSearchParams({ sort: query.sort, limit: String(query.limit) });
  if (query.search !== "") parameters.set("search", query.search);
  if (query.after !== null) parameters.set("after", query.after);
  if (query.offset > 0) parameters.set("offset", String(query.offset));
  return parameters.toString();
}

function decodePath(id: string, tag: string): string {
  const path = `/v1/decode/${encodeURIComponent(id)}`;
  return tag === "" ? path : `${path}?tag=${encodeURIComponent(tag)}`;
}

function quotaPath(on: Quota["on"], name: string | null): string {
  if (on === "server" || name === null) return "/v1/quotas/server";
  return `/v1/quotas/${on}s/${encodeURIComponent(name)}`;
}
