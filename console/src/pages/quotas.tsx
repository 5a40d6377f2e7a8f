// The quotas of this server, below the list of tags: those of tags, of tokens, and its own.
import { useState } from "preact/hooks";
import { api } from "../api";
import { useAsked } from "../asked";
import { grouped } from "../numbers";
import { tagLink } from "../route";
import { useMayChange } from "../session";
import type { Quota } from "../shapes";
import { ProblemNote } from "../parts/problem_note";
import { type Column, Table } from "../parts/table";
import { useWords } from "../words";
import { QuotaDialog } from "./quota_dialog";

const SHOWN = 50;

export function Quotas() {
  const words = useWords();
  const mayChange = useMayChange();
  const { value, problem, reload } = useAsked("quotas", api.quotas);
  const [edited, setEdited] = useState<Pick<Quota, "on" | "name"> | null>(null);
  const quotas = value?.quotas ?? [];
  const columns: Column<Quota>[] = [
    { key: "on", head: words.tags.quotaOn, cell: (quota) => words.tags.quotaScope[quota.on] },
    { key: "name", head: words.form.name, isName: true, cell: (quota) => <QuotaName quota={quota} /> },
    {
      key: "rate",
      head: words.form.quotaInput,
      isNumber: true,
      cell: (quota) => (quota.ids_per_second === 0 ? words.tags.blocked : grouped(quota.ids_per_second)),
    },
  ];
  if (mayChange) {
    columns.push({
      key: "actions",
      isActions: true,
      head: words.common.actions,
      cell: (quota) => (
        <button type="button" class="quiet" onClick={() => setEdited(quota)}>
          {words.tag.quota}
        </button>
      ),
    });
  }
  return (
    <section class="panel" data-testid="quotas">
      <div class="title-row">
        <h2>{words.tags.quotas}</h2>
        <span class="hint">{words.tags.quotasNote}</span>
        <span class="spring" />
        {mayChange && (
          <button type="button" onClick={() => setEdited({ on: "server", name: null })} data-testid="server-quota">
            {words.tags.serverQuota}
          </button>
        )}
      </div>
      <ProblemNote problem={problem} />
      {quotas.length === 0 ? (
        <p class="empty">{words.tags.noQuotas}</p>
      ) : (
        <Table
          caption={words.tags.quotas}
          isCaptionHidden
          columns={columns}
          rows={quotas.slice(0, SHOWN)}
          rowKey={(quota) => `${quota.on} ${quota.name ?? ""}`}
        />
      )}
      {quotas.length > SHOWN && <p class="hint">{words.tags.moreQuotas(grouped(quotas.length - SHOWN))}</p>}
      {edited !== null && (
        <QuotaDialog on={edited.on} name={edited.name} onClose={() => setEdited(null)} onDone={reload} />
      )}
    </section>
  );
}

function QuotaName({ quota }: { quota: Quota }) {
  if (quota.name === null) return <>–</>;
  return quota.on === "tag" ? <a href={tagLink(quota.name)}>{quota.name}</a> : <>{quota.name}</>;
}
