// Changes a tag: sends only the fields that differ, and null where the default is restored.
import { useEffect, useState } from "preact/hooks";
import { api, type Problem, type TagChange } from "../api";
import { asProblem } from "../asked";
import { wholeNumber } from "../numbers";
import { Dialog } from "../parts/dialog";
import { SelectField, TextField } from "../parts/field";
import { ProblemNote } from "../parts/problem_note";
import type { Policy, Tag } from "../shapes";
import { useWords, type Words } from "../words";
import { LimitField } from "./limit_field";

interface Fields {
  step: string;
  policy: string;
  stepMax: string;
  coverSeconds: string;
  limit: string;
  description: string;
}

function fieldsOf(tag: Tag): Fields {
  return {
    step: tag.step === null ? "" : String(tag.step),
    policy: tag.policy?.name ?? "",
    stepMax: tag.policy?.step_max === undefined ? "" : String(tag.policy.step_max),
    coverSeconds: tag.policy?.cover_seconds === undefined ? "" : String(tag.policy.cover_seconds),
    limit: tag.limit ?? "",
    description: tag.description ?? "",
  };
}

export function ChangeTagDialog({ tag, onClose, onDone }: { tag: string; onClose: () => void; onDone: () => void }) {
  const words = useWords();
  const [before, setBefore] = useState<Tag | null>(null);
  const [fields, setFields] = useState<Fields | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    api.tag(tag).then(
      (detail) => {
        setBefore(detail.tag);
        setFields(fieldsOf(detail.tag));
      },
      (error: unknown) => setProblem(asProblem(error)),
    );
  }, [tag]);
  if (before === null && problem === null) return null;
  const set = (change: Partial<Fields>) => setFields((fields) => fields && { ...fields, ...change });
  const submit = async () => {
    if (before === null || fields === null) return words.form.changeNone;
    const change = changeOf(fieldsOf(before), fields, words);
    if (typeof change === "string") return change;
    await api.changeTag(tag, change);
    return onDone();
  };
  return (
    <Dialog
      title={words.form.changeTitle(tag)}
      submit={words.common.save}
      testid="change-dialog"
      onClose={onClose}
      onSubmit={submit}
    >
      <ProblemNote problem={problem} />
      {before?.kind === "segment" && fields !== null && <NumberFields fields={fields} set={set} />}
      {fields !== null && (
        <TextField
          label={words.common.description}
          value={fields.description}
          testid="change-description"
          onValue={(description) => set({ description })}
        />
      )}
    </Dialog>
  );
}

function NumberFields({ fields, set }: { fields: Fields; set: (change: Partial<Fields>) => void }) {
  const words = useWords();
  return (
    <>
      <TextField
        label={words.form.step}
        hint={words.form.defaultEmpty}
        value={fields.step}
        testid="change-step"
        isNumber
        onValue={(step) => set({ step })}
      />
      <SelectField
        label={words.form.policy}
        hint={words.form.policyHint}
        value={fields.policy}
        testid="change-policy"
        options={Object.entries(words.form.policies)}
        onValue={(policy) => set({ policy })}
      />
      {(fields.policy === "leaf" || fields.policy === "cover") && (
        <div class="field-row">
          {fields.policy === "cover" && (
            <TextField
              label={words.form.coverSeconds}
              hint={words.form.defaultEmpty}
              value={fields.coverSeconds}
              testid="change-cover-seconds"
              isNumber
              onValue={(coverSeconds) => set({ coverSeconds })}
            />
          )}
          <TextField
            label={words.form.stepMax}
            hint={words.form.defaultEmpty}
            value={fields.stepMax}
            testid="change-step-max"
            isNumber
            onValue={(stepMax) => set({ stepMax })}
          />
        </div>
      )}
      <LimitField value={fields.limit} onValue={(limit) => set({ limit })} />
    </>
  );
}

/** The fields that differ, or what is wrong with them. */
function changeOf(before: Fields, after: Fields, words: Words): TagChange | string {
  const change: TagChange = {};
  if (after.step.trim() !== before.step) {
    const step = after.step.trim() === "" ? null : wholeNumber(after.step);
    if (step === null && after.step.trim() !== "") return `${words.form.step}: ${words.form.notNumber}`;
    change.step = step === null ? null : Number(step);
  }
  const isPolicyChanged =
    after.policy !== before.policy || after.stepMax !== before.stepMax || after.coverSeconds !== before.coverSeconds;
  if (isPolicyChanged) {
    const policy = policyOf(after);
    if (policy === undefined) return `${words.form.policy}: ${words.form.notNumber}`;
    change.policy = policy;
  }
  if (after.limit !== before.limit) change.limit = after.limit === "" ? null : after.limit;
  if (after.description !== before.description) {
    change.description = after.description === "" ? null : after.description;
  }
  return Object.keys(change).length === 0 ? words.form.changeNone : change;
}

/** Undefined if a number is none. */
function policyOf(fields: Fields): Policy | null | undefined {
  if (fields.policy === "") return null;
  const policy: Policy = { name: fields.policy };
  if (fields.policy === "fixed") return policy;
  if (fields.stepMax.trim() !== "") {
    const number = wholeNumber(fields.stepMax);
    if (number === null) return undefined;
    policy.step_max = Number(number);
  }
  if (fields.policy === "cover" && fields.coverSeconds.trim() !== "") {
    const number = wholeNumber(fields.coverSeconds);
    if (number === null) return undefined;
    policy.cover_seconds = Number(number);
  }
  return policy;
}
