// What is set for a tag, its state on this server, and where its row lies.
import { Facts } from "../parts/facts";
import { Moment } from "../parts/moment";
import { grouped } from "../numbers";
import type { Policy, TagDetail } from "../shapes";
import { useWords, type Words } from "../words";

function policyText(policy: Policy | null, words: Words): string {
  if (policy === null) return words.tag.policyDefault;
  const parts = [policy.name];
  if (policy.cover_seconds !== undefined) parts.push(words.unit.seconds(grouped(policy.cover_seconds)));
  if (policy.step_max !== undefined) parts.push(`≤ ${grouped(policy.step_max)}`);
  return parts.join(", ");
}

export function TagPanels({ detail }: { detail: TagDetail }) {
  const words = useWords();
  const { tag, row } = detail;
  const isSegment = tag.kind === "segment";
  return (
    <div class="panels">
      <section class="panel" data-testid="tag-settings">
        <h2>{words.tag.settings}</h2>
        <Facts
          facts={[
            [words.tag.kind, tag.kind],
            tag.format === null ? null : [words.tag.format, <code>{tag.format}</code>],
            isSegment ? [words.tag.maxId, tag.max_id === null ? "–" : grouped(tag.max_id)] : null,
            isSegment ? [words.tag.step, tag.step === null ? "–" : grouped(tag.step)] : null,
            isSegment ? [words.tag.policy, policyText(tag.policy, words)] : null,
            isSegment ? [words.tag.limit, tag.limit ?? "–"] : null,
            [words.tags.quota, <span data-testid="tag-quota">{quotaText(detail.quota, words)}</span>],
            tag.updated === null ? null : [words.tag.updated, <Moment date={new Date(tag.updated)} />],
          ]}
        />
      </section>
      {tag.live !== null && <LivePanel detail={detail} />}
      {row !== null && (
        <section class="panel" data-testid="tag-place">
          <h2>{words.tag.row}</h2>
          <Facts
            facts={[
              [words.overview.store, row.store],
              [words.overview.location, <code>{row.location}</code>],
              row.table === null ? null : [words.tag.table, <code>{row.table}</code>],
            ]}
          />
        </section>
      )}
    </div>
  );
}

function quotaText(quota: number | null, words: Words): string {
  if (quota === null) return words.common.none;
  return quota === 0 ? words.tags.blocked : `${grouped(quota)}${words.unit.perSecond}`;
}

function LivePanel({ detail }: { detail: TagDetail }) {
  const words = useWords();
  const live = detail.tag.live;
  if (live === null) return null;
  const isAlarm = live.stage !== "live" && live.stage !== "new" && live.stage !== "other_kind";
  const isUsed = detail.tag.kind === "segment";
  return (
    <section class="panel" data-testid="tag-live">
      <h2>{words.tag.stage}</h2>
      <Facts
        facts={[
          [
            words.overview.phase,
            <span class={isAlarm ? "alarm" : ""}>{words.tag.stages[live.stage] ?? live.stage}</span>,
          ],
          [words.tag.issued, grouped(live.issued)],
          isUsed ? [words.tag.stepNow, grouped(live.step)] : null,
          isUsed && live.policy !== null ? [words.tag.policy, policyText(live.policy, words)] : null,
          isUsed ? [words.tag.failures, grouped(live.failures)] : null,
          Number(live.skipped) === 0 ? null : [words.tag.skipped, grouped(live.skipped)],
          Number(live.regressions) === 0
            ? null
            : [words.tag.regressions, <span class="alarm">{grouped(live.regressions)}</span>],
          live.last_error === null
            ? null
            : [
                words.tag.lastError,
                <span class="alarm" data-testid="tag-last-error">
                  {live.last_error}
                </span>,
              ],
        ]}
      />
    </section>
  );
}
