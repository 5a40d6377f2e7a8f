// The shapes of what the server answers. 64-bit numbers are strings: use BigInt, never Number.

export interface Session {
  needs_token: boolean;
  token: string | null;
  admin: boolean;
  server: string;
  version: string;
  segment: boolean;
  snowflake: boolean;
}

export type Level = "error" | "warn" | "info";

export interface ServerEvent {
  unix_ms: string;
  level: Level;
  what: string;
  tag: string | null;
  text: string;
}

export interface StoreState {
  kind: string;
  location: string;
  state: "up" | "down" | "unknown";
  down_seconds: number | null;
  error: string | null;
}

export interface OwnWorker {
  stage: string;
  reason: string | null;
  worker: number | null;
  epoch: string | null;
  until: string | null;
  left_seconds: number | null;
  borrowed_seconds: number;
  clock_offset_seconds: number;
  layout: string;
  end: string;
  registry_answers: boolean | null;
}

export interface Overview {
  unix_ms: string;
  server: {
    name: string;
    version: string;
    uptime_seconds: number;
    ready: boolean;
    phase: string;
    reasons: string[];
    http: string;
    resp: string | null;
    grpc: string | null;
  };
  ids_per_second: number;
  requests_per_second: { http: number; resp: number; grpc: number };
  errors_per_second: number;
  connections: { http: number; resp: number; grpc: number };
  tags_loaded: number;
  cover: { seconds: number | null; tag: string | null; age_seconds: number };
  store: StoreState | null;
  worker: OwnWorker | null;
  certificate: { not_after: string; days_left: number } | null;
  events: ServerEvent[];
}

export interface HistoryPoint {
  unix_ms: string;
  ids_per_second: number;
  requests_per_second: number;
  errors_per_second: number;
  cover_seconds: number | null;
}

export interface History {
  interval_seconds: number;
  points: HistoryPoint[];
}

export interface TagRow {
  tag: string;
  kind: string;
  format: string | null;
  max_id: string | null;
  step: number | null;
  limit: string | null;
  description: string | null;
  updated: string | null;
  stage: string | null;
  rate: number | null;
  cover_seconds: number | null;
  remaining: number | null;
  headroom_days: number | null;
  quota: number | null;
}

export interface TagPage {
  tags: TagRow[];
  next_after: string | null;
  next_offset: number | null;
  loaded: number;
}

export interface Policy {
  name: string;
  step_max?: number;
  cover_seconds?: number;
}

export interface LiveTag {
  stage: string;
  policy: Policy | null;
  step: number;
  issued: string;
  remaining: number;
  rate: number | null;
  cover_seconds: number | null;
  headroom: string | null;
  headroom_days: number | null;
  segments: number;
  skipped: number | string;
  failures: number | string;
  regressions: number | string;
  last_error: string | null;
}

export interface Tag {
  tag: string;
  kind: string;
  format: string | null;
  max_id: string | null;
  step: number | null;
  policy: Policy | null;
  limit: string | null;
  description: string | null;
  updated: string | null;
  live: LiveTag | null;
  warnings?: string[];
}

export interface Segment {
  start: string;
  end: string;
}

export interface Reservation extends Segment {
  unix_ms: string;
  took_ms: number;
}

export interface TagDetail {
  tag: Tag;
  segments: Segment[];
  cursor: string | null;
  refill_at: string | null;
  quota: number | null;
  reservations: Reservation[];
  events: ServerEvent[];
  /** Null on a server without a store. */
  row: { store: string; location: string; table: string | null } | null;
}

export type WorkerState = "own" | "held" | "expired" | "released" | "java" | "quarantined";

export interface Worker {
  worker: number;
  state: WorkerState;
  address: string;
  holder: string;
  epoch: string;
  until: string | null;
}

export interface Workers {
  pool: string;
  worker_max: number;
  own: number | null;
  workers: Worker[];
  clocks: { address: string; worker: number; answers: boolean; difference_ms: number | null }[];
}

export interface ClusterServer {
  address: string;
  worker: number | null;
  own: boolean;
  overview: Overview | null;
  error: string | null;
}

export interface Finding {
  level: "error" | "warn" | "note";
  code: string;
  what: string;
  next: string;
}

export interface Quota {
  on: "server" | "tag" | "token";
  name: string | null;
  ids_per_second: number;
}

export interface Change {
  time: string;
  server: string;
  token: string | null;
  address: string;
  action: string;
  subject: string;
  before: string | null;
  after: string | null;
}

export interface Reading {
  name: string;
  time?: string | null;
  parts: Record<string, string>;
  marks: string[];
  score: number;
}

/** What `/v1/decode` answers: the readings of a text, the parts of a number, or those of a tag's id. */
export interface Decoded {
  id: string;
  tag?: string;
  number?: string;
  layout?: string;
  time?: string | null;
  unix_ms?: string;
  tick?: string;
  worker_id?: number;
  sequence?: string;
  data_center?: number;
  worker_in_data_center?: number;
  parts?: Record<string, string>;
  marks?: string[];
  readings?: Reading[];
}

/** A problem document (RFC 9457). */
export interface ProblemDocument {
  title?: string;
  status?: number;
  detail?: string;
  code?: string;
  next?: string;
  field?: string;
}
