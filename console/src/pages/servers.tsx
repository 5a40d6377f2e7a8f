// All servers of the cluster on one page, with what they do together.
import { api } from "../api";
import { useAsked } from "../asked";
import { duration, grouped, rate } from "../numbers";
import { ProblemNote } from "../parts/problem_note";
import { type Column, NOTHING, Table } from "../parts/table";
import type { ClusterServer, Overview } from "../shapes";
import { useWords, type Words } from "../words";

const RELOAD_SECONDS = 5;

function requests({ requests_per_second: { http, resp, grpc } }: Overview): number {
  return http + resp + grpc;
}

/** The sum over the servers that answer. */
function together(servers: readonly ClusterServer[], value: (overview: Overview) => number): number {
  return servers.reduce((sum, { overview }) => (overview === null ? sum : sum + value(overview)), 0);
}

export function Servers() {
  const words = useWords();
  const { value, problem } = useAsked("servers", api.servers, RELOAD_SECONDS);
  const servers = value?.servers ?? [];
  return (
    <>
      <div class="title-row">
        <h1>{words.pages.servers}</h1>
        {value !== null && servers.length < 2 && <span class="hint">{words.servers.alone}</span>}
      </div>
      <ProblemNote problem={problem} />
      {value === null && problem === null && <p class="empty">{words.common.loading}</p>}
      {servers.length > 0 && (
        <>
          <Totals servers={servers} />
          <Table
            caption={words.servers.caption}
            testid="servers"
            columns={columns(words)}
            rows={servers}
            rowKey={(server) => server.address}
            rowTestid={(server) => `server-row-${server.address}`}
          />
        </>
      )}
    </>
  );
}

function Totals({ servers }: { servers: readonly ClusterServer[] }) {
  const words = useWords();
  const covers = servers.map((server) => server.overview?.cover.seconds ?? null).filter((cover) => cover !== null);
  const answering = servers.filter((server) => server.overview !== null).length;
  const isWhole = answering === servers.length;
  const errors = together(servers, (one) => one.errors_per_second);
  return (
    <div class="totals">
      <Total
        name={words.pages.servers}
        value={`${grouped(answering)} / ${grouped(servers.length)}`}
        isAlarm={!isWhole}
        testid="servers-answering"
      />
      <Total
        name={words.overview.idsPerSecond}
        value={rate(together(servers, (one) => one.ids_per_second))}
        testid="servers-ids"
      />
      <Total
        name={words.overview.requestsPerSecond}
        value={rate(together(servers, requests))}
        testid="servers-requests"
      />
      <Total name={words.overview.errorsPerSecond} value={rate(errors)} isAlarm={errors > 0} testid="servers-errors" />
      <Total
        name={words.overview.cover}
        value={covers.length === 0 ? NOTHING : duration(Math.min(...covers), words)}
        testid="servers-cover"
      />
    </div>
  );
}

function Total({ name, value, isAlarm, testid }: { name: string; value: string; isAlarm?: boolean; testid: string }) {
  return (
    <section class="panel">
      <h2>{name}</h2>
      <p class={isAlarm === true ? "large alarm" : "large"} data-testid={testid}>
        {value}
      </p>
    </section>
  );
}

/** A cell about a server that may not answer. */
function of(server: ClusterServer, text: (overview: Overview) => string): string {
  return server.overview === null ? NOTHING : text(server.overview);
}

function columns(words: Words): Column<ClusterServer>[] {
  return [
    {
      key: "address",
      head: words.servers.address,
      isName: true,
      cell: (server) => (
        <>
          {server.own ? <b>{server.address}</b> : server.address}
          {server.own && <small class="hint">{words.servers.own}</small>}
        </>
      ),
    },
    { key: "worker", head: words.servers.worker, isNumber: true, cell: (server) => server.worker ?? NOTHING },
    { key: "state", head: words.servers.state, isText: true, cell: (server) => <State server={server} /> },
    {
      key: "ids",
      head: words.servers.ids,
      isNumber: true,
      cell: (server) => of(server, (one) => rate(one.ids_per_second)),
    },
    {
      key: "requests",
      head: words.servers.requests,
      isNumber: true,
      cell: (server) => of(server, (one) => rate(requests(one))),
    },
    { key: "errors", head: words.servers.errors, isNumber: true, cell: (server) => errors(server) },
    {
      key: "cover",
      head: words.servers.cover,
      isNumber: true,
      cell: (server) =>
        of(server, (one) => (one.cover.seconds === null ? NOTHING : duration(one.cover.seconds, words))),
    },
    { key: "store", head: words.servers.store, cell: (server) => store(server, words) },
    {
      key: "uptime",
      head: words.servers.uptime,
      isNumber: true,
      cell: (server) => of(server, (one) => duration(one.server.uptime_seconds, words)),
    },
    {
      key: "version",
      head: words.servers.version,
      isNumber: true,
      cell: (server) => of(server, (one) => one.server.version),
    },
  ];
}

function State({ server }: { server: ClusterServer }) {
  const words = useWords();
  if (server.overview === null) {
    return (
      <span class="alarm">
        {words.servers.silent}
        {server.error !== null && <small class="hint">{server.error}</small>}
      </span>
    );
  }
  const { ready, reasons } = server.overview.server;
  if (ready) return <>{words.shell.ready}</>;
  return (
    <span class="alarm">
      {words.shell.notReady}
      {reasons.map((reason) => (
        <small class="hint" key={reason}>
          {reason}
        </small>
      ))}
    </span>
  );
}

function errors(server: ClusterServer) {
  if (server.overview === null) return NOTHING;
  const errors = server.overview.errors_per_second;
  return <span class={errors > 0 ? "alarm" : ""}>{rate(errors)}</span>;
}

function store(server: ClusterServer, words: Words) {
  const store = server.overview?.store ?? null;
  if (store === null) return NOTHING;
  return <span class={store.state === "down" ? "alarm" : ""}>{words.overview.storeState[store.state]}</span>;
}
