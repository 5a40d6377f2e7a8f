// The answers of the stand-in, in the shapes of the real server, moving with the clock.
import { MORE } from "./answers_cluster.mjs";

const STARTED = Date.now() - 3 * 3_600_000 - 754_000;
const START_FILL = Date.now();
const seconds = () => (Date.now() - START_FILL) / 1000;
const wave = (period, phase = 0) => Math.sin((Date.now() / 1000 / period) * 2 * Math.PI + phase);

/** Tags that were changed or created; null for deleted. */
const changed = new Map();
const quotas = new Map([
  ["tag coupon", 500],
  ["server ", 200_000],
]);
const taken = new Map();

const FIRST = [
  {
    tag: "order",
    kind: "segment",
    format: null,
    rate: 48_200,
    step: 29_000_000,
    start: 8_001_000_000n,
    description: "Orders of all shops",
  },
  {
    tag: "invoice",
    kind: "segment",
    format: "INV-{date %Y%m%d}-{number width=8}",
    rate: 37.5,
    step: 22_500,
    start: 480_000n,
    description: null,
  },
  {
    tag: "coupon",
    kind: "segment",
    format: null,
    rate: 410,
    step: 246_000,
    start: 77_000_000n,
    description: "<img src=x onerror=alert(1)> =HYPERLINK(1)",
  },
  { tag: "session", kind: "uuid7", format: null, rate: 1_250, description: null },
  { tag: "trace", kind: "snowflake", format: null, rate: 9_800, description: null },
];

function known(scenario) {
  if (scenario.tags === 0) return [];
  return FIRST;
}

function spec(scenario, name) {
  if (changed.has(name)) return changed.get(name);
  const found = known(scenario).find((one) => one.tag === name);
  if (found !== undefined) return found;
  const number = /^customer-(\d{7})$/.exec(name);
  if (scenario.tags > 10 && number !== null) return customer(Number(number[1]));
  return null;
}

function customer(number) {
  const is_used = number % 7 < 3;
  return {
    tag: `customer-${String(number).padStart(7, "0")}`,
    kind: "segment",
    format: null,
    rate: is_used ? ((number * 7919) % 900) / 10 : null,
    step: 1000,
    start: BigInt(number % 1000) * 1000n + 1n,
    description: null,
  };
}

function segmentsOf(one, scenario) {
  const length = BigInt(one.step);
  const period = Number(length) / (one.rate || 1);
  const scale = period > 45 ? period / 45 : 1;
  const passed = BigInt(Math.floor(seconds() * (one.rate || 0) * scale)) + (length * 3n) / 10n;
  const turn = scenario.is_broken ? 0n : passed / length;
  let inside = scenario.is_broken ? (length * 97n) / 100n : passed % length;
  if (inside >= length) inside = length - 1n;
  const start = BigInt(one.start) + turn * length;
  const cursor = start + inside;
  const first = { start: String(start), end: String(start + length) };
  const second = { start: String(start + length), end: String(start + 2n * length + length / 2n) };
  // The mark lies a tenth into the last segment.
  const has_second = !scenario.is_broken && inside > (length * 12n) / 100n;
  const last = has_second ? second : first;
  const refill = BigInt(last.start) + (BigInt(last.end) - BigInt(last.start)) / 10n;
  return { segments: has_second ? [first, second] : [first], cursor, refill, left: start + length - cursor, length };
}

export function tag(scenario, name) {
  const one = spec(scenario, name);
  if (one === null || one === undefined) return null;
  const is_segment = one.kind === "segment";
  const parts = is_segment ? segmentsOf(one, scenario) : null;
  const rate = one.rate === null ? null : Math.max(0, one.rate * (1 + 0.08 * wave(40) + 0.03 * wave(7, 1)));
  const end = parts === null ? null : BigInt(parts.segments.at(-1).end);
  const headroom = end === null ? null : 9_223_372_036_854_775_807n - end;
  const remaining = parts === null ? 0 : Number(end - parts.cursor);
  const live = {
    stage: is_segment ? "live" : "other_kind",
    policy: { name: "cover", step_max: 10_000_000, cover_seconds: 600 },
    step: one.step ?? 0,
    issued: String(Math.floor(seconds() * (rate ?? 0) + 18_700_000)),
    remaining,
    rate,
    cover_seconds: rate > 0 ? remaining / rate : null,
    headroom: headroom === null ? null : String(headroom),
    headroom_days: headroom === null || !rate ? null : name === "coupon" ? 21.4 : Number(headroom) / rate / 86_400,
    segments: parts?.segments.length ?? 0,
    skipped: 0,
    failures: scenario.is_broken ? 14 : 0,
    regressions: 0,
    last_error: scenario.is_broken
      ? 'cannot reserve a segment of "order" from mysql://db:3306/leaf: connection refused'
      : null,
  };
  return {
    tag: {
      tag: name,
      kind: one.kind,
      format: one.format,
      max_id: end === null ? null : String(end),
      step: is_segment ? 1000 : null,
      policy: one.policy ?? null,
      limit: is_segment ? (one.limit ?? "int64") : null,
      description: one.description ?? null,
      updated: new Date(Date.now() - 5_000).toISOString(),
      live: one.rate === null || !is_segment ? null : live,
      warnings: one.format === null ? [] : ["a number wider than 8 digits is refused, so the tag has 99999999 numbers"],
    },
    segments: one.rate === null ? [] : (parts?.segments ?? []),
    cursor: parts === null ? null : String(parts.cursor),
    refill_at: parts === null ? null : String(parts.refill),
    quota: quotas.get(`tag ${name}`) ?? null,
    reservations: is_segment && one.rate !== null ? reservations(one, scenario) : [],
    events: overview(scenario).events.filter((event) => event.tag === name),
    row: { store: "mysql", location: "mysql://leaf@db:3306/leaf", table: "leaf_alloc" },
  };
}

function reservations(one, scenario) {
  const list = [];
  let end = BigInt(segmentsOf(one, scenario).segments.at(-1).end);
  for (let index = 0; index < 24; index += 1) {
    const factor = 60 + Math.round(40 * Math.abs(Math.sin(index / 3)));
    const length = (BigInt(one.step) * BigInt(factor)) / 100n;
    const unix_ms = String(START_FILL - index * 61_000 - (index % 3) * 7_000);
    list.push({ unix_ms, start: String(end - length), end: String(end), took_ms: 0.8 + ((index * 37) % 23) / 10 });
    end -= length;
  }
  return list;
}

export function overview(scenario) {
  const broken = scenario.is_broken;
  const now = Date.now();
  const event = (minutes, level, what, tag, text) => ({
    unix_ms: String(now - minutes * 60_000),
    level,
    what,
    tag,
    text,
  });
  const calm = [
    event(12, "info", "tag_created", "coupon", "tag created by token ops from 10.1.2.9"),
    event(41, "warn", "clock_differs", null, "the clock of 10.0.0.7:8080 is 310 ms ahead of this server's"),
    event(58, "info", "config_reloaded", null, "access file read again: 3 tokens"),
  ];
  const loud = [
    event(0.2, "error", "store_down", null, "the store is down: mysql://db:3306/leaf: connection refused"),
    event(0.4, "error", "refill_failed", "order", "no segment reserved: connection refused; trying again in 2 s"),
    event(3, "warn", "store_slow", null, "the store took 1.9 s for one call"),
  ];
  const rate = scenario.tags === 0 ? 0 : 48_600 * (1 + 0.08 * wave(40) + 0.02 * wave(7));
  const cover = scenario.tags === 0 ? null : broken ? Math.max(0, 64 - (seconds() % 60)) : 640 + 170 * wave(90);
  return {
    unix_ms: String(now),
    server: {
      name: "10.0.0.5:8080",
      version: "0.1.0",
      uptime_seconds: (now - STARTED) / 1000,
      ready: !broken,
      phase: broken ? "degraded" : "serving",
      reasons: broken ? ["the store has not answered for 42 s: connection refused"] : [],
      http: "10.0.0.5:8080",
      resp: "10.0.0.5:6380",
      grpc: null,
    },
    ids_per_second: rate,
    requests_per_second: { http: rate / 160, resp: rate / 700, grpc: 0 },
    errors_per_second: broken ? 14.2 + 3 * wave(11) : 0,
    connections: { http: 214, resp: 37, grpc: 0 },
    tags_loaded: scenario.tags > 10 ? 428_571 : known(scenario).length,
    cover: { seconds: cover, tag: cover === null ? null : "order", age_seconds: 0.4 },
    store: {
      kind: "mysql",
      location: "mysql://leaf@db:3306/leaf",
      state: broken ? "down" : "up",
      down_seconds: broken ? 42 + seconds() : null,
      error: broken ? "connection refused (os error 111)" : null,
    },
    worker: {
      stage: "holding",
      reason: null,
      worker: 3,
      epoch: "7",
      until: new Date(now + 3_500_000).toISOString(),
      left_seconds: 3_500 + 40 * wave(60),
      borrowed_seconds: 0,
      clock_offset_seconds: broken ? -2.4 : 0.0004,
      layout: "leaf",
      end: "2080-07-10T17:30:30.208Z",
      registry_answers: !broken,
    },
    certificate: { not_after: "2027-03-01T00:00:00Z", days_left: broken ? 6.2 : 98.4 },
    events: scenario.tags === 0 ? [] : broken ? [...loud, ...calm] : calm,
  };
}

function history(scenario) {
  const points = [];
  const now = Date.now();
  for (let index = 179; index >= 1; index -= 1) {
    const at = now - index * 10_000;
    const swing = Math.sin(at / 90_000) + 0.4 * Math.sin(at / 21_000);
    const broken = scenario.is_broken && index < 5;
    const none = scenario.tags === 0;
    points.push({
      unix_ms: String(at),
      ids_per_second: none ? 0 : 46_000 + 4_000 * swing,
      requests_per_second: none ? 0 : 350 + 30 * swing,
      errors_per_second: broken ? 12 : 0,
      cover_seconds: none ? null : broken ? 60 + index * 10 : 640 + 150 * swing,
    });
  }
  return { interval_seconds: 10, points };
}

export function session(scenario, token) {
  const admin = !scenario.needs_token || token === "admin";
  return {
    needs_token: scenario.needs_token,
    token,
    admin,
    server: "10.0.0.5:8080",
    version: "0.1.0",
    segment: true,
    snowflake: true,
  };
}

function row(scenario, one) {
  const detail = tag(scenario, one.tag);
  const { live } = detail.tag;
  return {
    tag: one.tag,
    kind: one.kind,
    format: one.format,
    max_id: detail.tag.max_id,
    step: detail.tag.step,
    limit: detail.tag.limit,
    description: detail.tag.description,
    updated: detail.tag.updated,
    stage: live?.stage ?? null,
    rate: one.rate,
    cover_seconds: live?.cover_seconds ?? null,
    remaining: live?.remaining ?? null,
    headroom_days: live?.headroom_days ?? null,
    quota: quotas.get(`tag ${one.tag}`) ?? null,
  };
}

function* namesInOrder(scenario, after, search) {
  const small = [...new Set([...known(scenario).map((one) => one.tag), ...changed.keys()])].sort();
  const fits = (name) => name.startsWith(search) && (after === null || name > after);
  for (const name of small.filter((name) => name < "customer-")) if (fits(name)) yield name;
  if (scenario.tags > 10) {
    const first = after?.startsWith("customer-") ? Number(after.slice(9)) + 1 : 0;
    const digits = search.startsWith("customer-") ? search.slice(9) : null;
    const from = digits ? Math.max(first, Number(digits.padEnd(7, "0"))) : first;
    for (let number = from; number < scenario.tags; number += 1) {
      const name = customer(number).tag;
      if (!fits(name)) return;
      yield name;
    }
  }
  for (const name of small.filter((name) => name >= "customer-")) if (fits(name)) yield name;
}

function tags(scenario, query) {
  const limit = Number(query.get("limit") ?? 50);
  const search = query.get("search") ?? "";
  const sort = query.get("sort") ?? "name";
  const loaded = scenario.tags > 10 ? 428_571 : known(scenario).length;
  const rows = [];
  if (sort === "name") {
    for (const name of namesInOrder(scenario, query.get("after"), search)) {
      const one = spec(scenario, name);
      if (one === null) continue;
      if (rows.length === limit) return { tags: rows, next_after: rows.at(-1).tag, next_offset: null, loaded };
      rows.push(row(scenario, one));
    }
    return { tags: rows, next_after: null, next_offset: null, loaded };
  }
  const used = [...known(scenario)];
  for (let number = 0; scenario.tags > 10 && number < 2_000; number += 1) used.push(customer(number));
  const all = used.filter((one) => one.rate !== null && one.tag.includes(search)).map((one) => row(scenario, one));
  const by = {
    rate: (one) => -one.rate,
    cover: (one) => one.cover_seconds ?? Infinity,
    headroom: (one) => one.headroom_days ?? Infinity,
  }[sort];
  all.sort((a, b) => by(a) - by(b));
  const offset = Number(query.get("offset") ?? 0);
  const next = offset + limit < Math.min(all.length, 1_000) ? offset + limit : null;
  return { tags: all.slice(offset, offset + limit), next_after: null, next_offset: next, loaded };
}

const ok = (body, status = 200) => ({ status, body });
const refused = (status, code, detail, next) => ({ status, body: { title: code, status, code, detail, next } });

function tagCall(scenario, method, name, rest, body) {
  const one = spec(scenario, name);
  if (one === null) return refused(404, "unknown_tag", `there is no tag "${name}"`, `leafid tag create '${name}'`);
  if (rest === "/ids") {
    const parts = one.kind === "segment" ? segmentsOf(one, scenario) : null;
    const extra = (taken.get(name) ?? 0n) + 1n;
    taken.set(name, extra);
    return ok({ ids: [parts === null ? "01a209ae-d361-71ec-b410-d381213ba7f8" : String(parts.cursor + extra)] });
  }
  if (method === "DELETE") return (changed.set(name, null), ok(null, 204));
  if (method === "PATCH") {
    if (body.next !== undefined && BigInt(body.next) < 1_000_000n) {
      return refused(409, "next_behind", `tag "${name}" is already above ${body.next}`, "name a higher number");
    }
    changed.set(name, { ...one, ...body });
    return ok(tag(scenario, name).tag);
  }
  return null;
}

export function route(scenario, method, path, query, body) {
  if (path === "/console/overview") return ok(overview(scenario));
  if (path === "/console/history") return ok(history(scenario));
  if (path === "/console/tags") return ok(tags(scenario, query));
  if (path.startsWith("/console/tags/")) {
    const name = decodeURIComponent(path.slice("/console/tags/".length));
    const detail = tag(scenario, name);
    return detail === null
      ? refused(404, "unknown_tag", `there is no tag "${name}"`, `leafid tag create '${name}'`)
      : ok(detail);
  }
  if (path === "/v1/tags" && method === "POST") {
    if (body.tag === "")
      return refused(400, "bad_tag", "a tag has 1 to 128 bytes; this one has 0", "give the tag a name");
    if (spec(scenario, body.tag) !== null)
      return refused(409, "tag_exists", `tag "${body.tag}" exists already`, "choose another name");
    changed.set(body.tag, {
      kind: "segment",
      format: null,
      rate: null,
      step: 1000,
      start: 1n,
      description: null,
      ...body,
    });
    return ok(tag(scenario, body.tag).tag, 201);
  }
  const onTag = /^\/v1\/tags\/([^/]+)(\/ids)?$/.exec(path);
  if (onTag !== null) return tagCall(scenario, method, decodeURIComponent(onTag[1]), onTag[2] ?? "", body);
  const onQuota = /^\/v1\/quotas\/(server|tags|tokens)(?:\/(.+))?$/.exec(path);
  if (path === "/v1/quotas") {
    const list = [...quotas].map(([key, ids_per_second]) => {
      const [on, name] = [key.slice(0, key.indexOf(" ")), key.slice(key.indexOf(" ") + 1)];
      return { on, name: name === "" ? null : name, ids_per_second };
    });
    return ok({ quotas: scenario.tags === 0 ? [] : list });
  }
  if (onQuota !== null) {
    const key = `${onQuota[1].replace(/s$/, "")} ${decodeURIComponent(onQuota[2] ?? "")}`;
    if (method === "DELETE") return (quotas.delete(key), ok(null, 204));
    quotas.set(key, body.ids_per_second);
    return ok({ on: onQuota[1].replace(/s$/, ""), name: onQuota[2] ?? null, ids_per_second: body.ids_per_second });
  }
  return MORE(scenario, method, path, query, { overview });
}
