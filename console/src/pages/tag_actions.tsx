// What can be done with one tag: take an id, decode one, and for admins change it.
import { useState } from "preact/hooks";
import { api, type Problem } from "../api";
import { asProblem } from "../asked";
import { showTag } from "../live";
import { CopyButton } from "../parts/copy_button";
import { ProblemNote } from "../parts/problem_note";
import { goFromTag, pageLink } from "../route";
import { useMayChange } from "../session";
import type { Tag } from "../shapes";
import { useWords } from "../words";
import { TagDialog, type TagDialogKind } from "./tag_dialogs";
import { actionsOf } from "./tags_columns";

export function TagActions({ tag }: { tag: Tag }) {
  const words = useWords();
  const mayChange = useMayChange();
  const [dialog, setDialog] = useState<TagDialogKind | null>(null);
  const [taken, setTaken] = useState<string | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const take = () => {
    setProblem(null);
    api.takeIds(tag.tag, 1).then(
      ({ ids }) => setTaken(ids[0] ?? null),
      (error: unknown) => setProblem(asProblem(error)),
    );
  };
  const done = () => {
    if (dialog === "delete") goFromTag(tag.tag, pageLink("tags"));
    else void api.tag(tag.tag).then(showTag, () => {});
  };
  const decodeLink = `${pageLink("decode")}?${new URLSearchParams({ tag: tag.tag, ...(taken === null ? {} : { id: taken }) })}`;
  return (
    <div>
      <div class="buttons">
        {mayChange && (
          <button type="button" class="primary" onClick={take} data-testid="take-id">
            {words.tag.take}
          </button>
        )}
        <a class="button" href={decodeLink} data-testid="decode-of-tag">
          {words.tag.decode}
        </a>
        {mayChange &&
          actionsOf(tag.kind).map((kind) => (
            <button
              key={kind}
              type="button"
              class={kind === "delete" ? "danger-text" : ""}
              onClick={() => setDialog(kind)}
              data-testid={kind === "quota" ? "tag-quota-button" : `tag-${kind}`}
            >
              {words.tag[kind]}
            </button>
          ))}
      </div>
      <div aria-live="polite">
        {taken !== null && (
          <p class="taken">
            {words.tag.taken} <code data-testid="taken-id">{taken}</code> <CopyButton text={taken} />{" "}
            <span class="hint">{words.tag.takenNote}</span>
          </p>
        )}
      </div>
      <ProblemNote problem={problem} />
      {dialog !== null && <TagDialog kind={dialog} tag={tag.tag} onClose={() => setDialog(null)} onDone={done} />}
    </div>
  );
}
