// The answers of the stand-in about the cluster: worker ids, servers, findings, audit, decoding.

const DAY = 86_400_000;

function workers(scenario) {
  const list = [];
  const many = Math.min(scenario.servers * 12, 180);
  const states = ["held", "held", "released", "expired", "held", "java", "quarantined", "released"];
  for (let index = 0; index < (scenario.tags === 0 ? 4 : many); index += 1) {
    const worker = scenario.worker_max > 1023 ? index * 311 : index < 40 ? index : 40 + (index - 40) * 5;
    const state = index === 3 ? "own" : states[index % states.length];
    list.push({
      worker,
      state,
      address: state === "released" ? "" : `10.0.${Math.floor(index / 200)}.${(index % 200) + 2}:8080`,
      holder: state === "released" ? "" : `a0a6c1cfbf304535.${index.toString(16).padStart(8, "0")}`,
      epoch: String((index % 9) + 1),
      until: state === "java" ? null : new Date(Date.now() + (state === "expired" ? -DAY : 3_400_000)).toISOString(),
    });
  }
  return {
    pool: "default",
    worker_max: scenario.worker_max,
    own: 3,
    workers: list,
    clocks: [
      { address: "10.0.0.6:8080", worker: 4, answers: true, difference_ms: 1.2 },
      { address: "10.0.0.7:8080", worker: 5, answers: true, difference_ms: scenario.is_broken ? 2410.5 : -310.4 },
      { address: "10.0.0.9:8080", worker: 9, answers: false, difference_ms: null },
    ],
  };
}

function servers(scenario, overview) {
  const list = [];
  for (let index = 0; index < scenario.servers; index += 1) {
    const own = index === 0;
    const silent = scenario.is_broken && index === 2;
    const view = overview(own ? scenario : { ...scenario, is_broken: false });
    view.ids_per_second *= 1 - index / 20;
    view.server = { ...view.server, name: `10.0.0.${index + 5}:8080` };
    list.push({
      address: `10.0.0.${index + 5}:8080`,
      worker: silent ? 5 : index + 3,
      own,
      overview: silent ? null : view,
      error: silent ? "cannot connect: timed out after 2 s" : null,
    });
  }
  return { servers: list };
}

function findings(scenario) {
  if (scenario.tags === 0) return { findings: [] };
  const list = [
    {
      level: "warn",
      code: "no_tokens",
      what: "this server requires no tokens, and listens on an address that other machines can reach",
      next: "set access-file, see docs/access.md",
    },
    {
      level: "note",
      code: "step_small",
      what: 'tag "invoice" reserves a segment every 4 s',
      next: "leafid tag change invoice --policy cover",
    },
  ];
  const bad = {
    level: "error",
    code: "store_not_durable",
    what: "the store may lose a reservation in a crash: innodb_flush_log_at_trx_commit is 2",
    next: "set it to 1 on mysql://db:3306",
  };
  return { findings: scenario.is_broken ? [bad, ...list] : list };
}

function audit(limit) {
  const changes = [
    ["tag changed", "order", "step=1000 policy=default", "step=1000 policy=cover(600s)"],
    ["quota changed", "coupon", null, "ids_per_second=500"],
    ["tag created", '=HYPERLINK("http://x")', null, "max_id=1 step=1000 policy=default limit=int64"],
    ["tag deleted", "test-tag", "max_id=1001 step=1000 policy=default limit=int64", null],
    ["worker released", "worker id 12", "holder=a0a6c1cfbf304535 until=2026-11-22T03:24:34Z", null],
  ];
  const list = [];
  for (let index = 0; index < Math.min(limit, 57); index += 1) {
    const [action, subject, before, after] = changes[index % changes.length];
    const time = new Date(Date.now() - index * 47 * 60_000).toISOString();
    const token = index % 4 === 3 ? null : "ops";
    list.push({ time, server: "10.0.0.5:8080", token, address: "10.1.2.9:51234", action, subject, before, after });
  }
  return { changes: list };
}

function decode(text, query) {
  if (query.get("tag"))
    return {
      id: text,
      tag: query.get("tag"),
      number: "4711",
      time: "2026-11-23T00:00:00Z",
      parts: { date: "20261123" },
      marks: [],
    };
  if (/^\d{1,20}$/.test(text)) {
    return {
      id: text,
      layout: "leaf",
      time: "2026-11-23T18:33:02.063Z",
      unix_ms: "1795458782063",
      tick: "506623807406",
      worker_id: 0,
      sequence: "545",
      marks: [],
      readings: [
        {
          name: "leaf",
          time: "2026-11-23T18:33:02.063Z",
          parts: { sequence: "545", worker: "0" },
          marks: [],
          score: 95,
        },
        {
          name: "twitter",
          time: "2026-11-23T18:33:02.063Z",
          parts: { data_center: "0", sequence: "545", worker: "0" },
          marks: [],
          score: 57,
        },
        { name: "segment", parts: {}, marks: [], score: 40 },
        {
          name: "wide",
          time: "2034-01-10T20:25:03.703Z",
          parts: { sequence: "545", worker: "0" },
          marks: ["its time is in the future"],
          score: 21,
        },
      ],
    };
  }
  if (/^[0-9a-f-]{36}$/.test(text)) {
    return {
      id: text,
      readings: [
        {
          name: "uuid7",
          time: "2024-11-03T20:39:56.203Z",
          parts: { rand_a: "cc3", rand_b: "18c4dc0c0c07398f", variant: "2", version: "7" },
          marks: [],
          score: 90,
        },
      ],
    };
  }
  return null;
}

export function MORE(scenario, method, path, query, { overview }) {
  const ok = (body, status = 200) => ({ status, body });
  if (path === "/console/workers") return ok(workers(scenario));
  if (path === "/console/servers") return ok(servers(scenario, overview));
  if (path === "/console/findings") return ok(findings(scenario));
  if (path === "/v1/audit") return ok(scenario.tags === 0 ? { changes: [] } : audit(Number(query.get("limit"))));
  if (path === "/v1/clock/accept") return ok(null, 202);
  if (/^\/v1\/workers\/\d+\/release$/.test(path)) {
    const detail = "a server at 10.0.0.6:8080 answers with this worker id";
    return {
      status: 409,
      body: { title: "worker_alive", status: 409, code: "worker_alive", detail, next: "stop that server" },
    };
  }
  if (path.startsWith("/v1/decode/")) {
    const text = decodeURIComponent(path.slice("/v1/decode/".length));
    const body = decode(text, query);
    const detail = `"${text}" is neither a whole number of at most 64 bits nor like the ids of any family`;
    return body === null
      ? {
          status: 400,
          body: { title: "bad_field", status: 400, code: "bad_field", detail, next: "give the id as it was issued" },
        }
      : ok(body);
  }
  return null;
}
