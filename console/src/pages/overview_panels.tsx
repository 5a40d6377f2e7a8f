// The panels of the overview: server, store, worker id and clock, certificate.
import { useState } from "preact/hooks";
import { api } from "../api";
import { Dialog } from "../parts/dialog";
import { Facts } from "../parts/facts";
import { Moment } from "../parts/moment";
import { days, duration, grouped } from "../numbers";
import { pageLink } from "../route";
import { useMayChange } from "../session";
import type { Overview, OwnWorker } from "../shapes";
import { useWords, type Words } from "../words";

/** A certificate that ends sooner needs a person. */
const CERTIFICATE_DAYS = 14;
/** Clocks closer than this agree. */
const CLOCK_SECONDS = 0.1;

export function ServerPanels({ overview }: { overview: Overview }) {
  return (
    <div class="panels">
      <ServerPanel overview={overview} />
      <StorePanel overview={overview} />
      <WorkerPanel worker={overview.worker} />
      <FrontendsPanel overview={overview} />
    </div>
  );
}

function ServerPanel({ overview }: { overview: Overview }) {
  const words = useWords();
  const { server } = overview;
  return (
    <section class="panel">
      <h2>{words.overview.server}</h2>
      <Facts
        facts={[
          [words.overview.phase, <span class={server.ready ? "" : "alarm"}>{server.phase}</span>],
          [words.overview.uptime, duration(server.uptime_seconds, words)],
          [words.overview.version, server.version],
          [words.overview.tagsLoaded, <a href={pageLink("tags")}>{grouped(overview.tags_loaded)}</a>],
        ]}
      />
    </section>
  );
}

function StorePanel({ overview }: { overview: Overview }) {
  const words = useWords();
  const { store } = overview;
  return (
    <section class="panel" data-testid="store">
      <h2>{words.overview.store}</h2>
      {store === null ? (
        <p class="empty">{words.overview.noStore}</p>
      ) : (
        <Facts
          facts={[
            [
              words.overview.phase,
              <span class={store.state === "down" ? "alarm" : ""} data-testid="store-state">
                {store.down_seconds === null
                  ? words.overview.storeState[store.state]
                  : words.overview.downFor(duration(store.down_seconds, words))}
              </span>,
            ],
            [words.tags.kind, store.kind],
            [words.overview.location, <code>{store.location}</code>],
            store.error === null ? null : [words.overview.error, <span class="alarm">{store.error}</span>],
          ]}
        />
      )}
    </section>
  );
}

function clockText(offset: number, words: Words): string {
  const length = duration(Math.abs(offset), words);
  if (Math.abs(offset) < CLOCK_SECONDS) return words.overview.clockEqual;
  return offset > 0 ? words.overview.clockAhead(length) : words.overview.clockBehind(length);
}

function WorkerPanel({ worker }: { worker: OwnWorker | null }) {
  const words = useWords();
  return (
    <section class="panel" data-testid="worker">
      <h2>{words.overview.worker}</h2>
      {worker === null ? <p class="empty">{words.overview.workerOff}</p> : <WorkerFacts worker={worker} />}
    </section>
  );
}

function WorkerFacts({ worker }: { worker: OwnWorker }) {
  const words = useWords();
  const mayChange = useMayChange();
  const [isAsking, setIsAsking] = useState(false);
  const isOff = Math.abs(worker.clock_offset_seconds) >= CLOCK_SECONDS;
  const isSilent = worker.registry_answers === false;
  const answers = worker.registry_answers ? words.overview.registryAnswers : words.overview.registrySilent;
  const stage = words.overview.workerStage[worker.stage] ?? worker.stage;
  return (
    <>
      <Facts
        facts={[
          [
            words.overview.worker,
            <span class={worker.worker === null ? "alarm" : ""} data-testid="worker-id">
              {worker.worker === null ? stage : `${worker.worker} (${stage})`}
            </span>,
          ],
          worker.reason === null ? null : [words.overview.reason, <span class="alarm">{worker.reason}</span>],
          [
            words.overview.lease,
            worker.left_seconds === null
              ? words.overview.noLease
              : words.overview.leaseLeft(duration(worker.left_seconds, words)),
          ],
          [
            words.overview.registry,
            <span class={isSilent ? "alarm" : ""} data-testid="registry-state">
              {worker.registry_answers === null ? words.overview.noRegistry : answers}
            </span>,
          ],
          [
            words.overview.clock,
            <span class={isOff ? "alarm" : ""} title={words.overview.clockOffset} data-testid="clock">
              {clockText(worker.clock_offset_seconds, words)}
            </span>,
          ],
          worker.borrowed_seconds > 0 ? [words.overview.borrowed, duration(worker.borrowed_seconds, words)] : null,
          [words.overview.layout, <code>{worker.layout}</code>],
          [words.overview.layoutEnd, <Moment date={new Date(worker.end)} />],
        ]}
      />
      {mayChange && isOff && (
        <button type="button" onClick={() => setIsAsking(true)} data-testid="accept-clock">
          {words.overview.acceptClock}
        </button>
      )}
      {isAsking && (
        <Dialog
          title={words.overview.acceptClockTitle}
          submit={words.overview.acceptClockConfirm}
          testid="accept-clock-dialog"
          onClose={() => setIsAsking(false)}
          onSubmit={async () => void (await api.acceptClock())}
        >
          <p>{words.overview.acceptClockText}</p>
        </Dialog>
      )}
    </>
  );
}

function FrontendsPanel({ overview }: { overview: Overview }) {
  const words = useWords();
  const { server, connections, certificate } = overview;
  const frontend = (address: string | null, count: number) =>
    address === null ? words.common.off : `${address}, ${words.overview.connectionsOpen(grouped(count))}`;
  const isEnding = certificate !== null && certificate.days_left < CERTIFICATE_DAYS;
  return (
    <section class="panel">
      <h2>{words.overview.frontends}</h2>
      <Facts
        facts={[
          ["HTTP", frontend(server.http, connections.http)],
          ["Redis", frontend(server.resp, connections.resp)],
          ["gRPC", frontend(server.grpc, connections.grpc)],
          [
            words.overview.certificate,
            <span class={isEnding ? "alarm" : ""} data-testid="certificate">
              {certificate === null
                ? words.overview.noCertificate
                : words.overview.certificateLeft(days(certificate.days_left, words))}
            </span>,
          ],
        ]}
      />
    </section>
  );
}
