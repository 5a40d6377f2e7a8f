// Creates a tag.
import { useState } from "preact/hooks";
import { api, type NewTag } from "../api";
import { wholeNumber } from "../numbers";
import { Dialog } from "../parts/dialog";
import { SelectField, TextField } from "../parts/field";
import { goFromTag, tagLink } from "../route";
import { useSession } from "../session";
import { useWords, type Words } from "../words";
import { LimitField } from "./limit_field";

/** The kinds of tags, as the server knows them. */
const FAMILIES = [
  "uuid7",
  "uuid4",
  "uuid1",
  "uuid6",
  "uuid8",
  "ulid",
  "ksuid",
  "xid",
  "objectid",
  "tsid",
  "cosid",
  "nanoid",
  "cuid2",
] as const;

interface Fields {
  name: string;
  kind: string;
  start: string;
  step: string;
  limit: string;
  format: string;
  description: string;
}

const EMPTY: Fields = { name: "", kind: "segment", start: "", step: "", limit: "", format: "", description: "" };

export function CreateTagDialog({ onClose }: { onClose: () => void }) {
  const words = useWords();
  const session = useSession();
  const [fields, setFields] = useState<Fields>({ ...EMPTY, kind: session?.segment === false ? "uuid7" : "segment" });
  const set = (change: Partial<Fields>) => setFields({ ...fields, ...change });
  const isSegment = fields.kind === "segment";
  const kinds = [
    ...(session?.segment === false ? [] : ["segment"]),
    ...(session?.snowflake === false ? [] : ["snowflake"]),
    ...FAMILIES,
  ];
  const submit = async () => {
    const tag = newTag(fields, words);
    if (typeof tag === "string") return tag;
    await api.createTag(tag);
    goFromTag(null, tagLink(tag.tag));
    return undefined;
  };
  return (
    <Dialog
      title={words.form.createTitle}
      submit={words.form.createSubmit}
      testid="create-dialog"
      onClose={onClose}
      onSubmit={submit}
    >
      <TextField
        label={words.form.name}
        hint={words.form.nameHint}
        value={fields.name}
        testid="create-name"
        onValue={(name) => set({ name })}
      />
      <SelectField
        label={words.form.kind}
        value={fields.kind}
        testid="create-kind"
        options={kinds.map((kind) => [kind, words.form.kinds[kind] ?? kind] as const)}
        onValue={(kind) => set({ kind })}
      />
      {isSegment && (
        <div class="field-row">
          <TextField
            label={words.form.start}
            hint={words.form.startHint}
            value={fields.start}
            testid="create-start"
            isNumber
            onValue={(start) => set({ start })}
          />
          <TextField
            label={words.form.step}
            hint={words.form.stepHint}
            value={fields.step}
            testid="create-step"
            isNumber
            onValue={(step) => set({ step })}
          />
        </div>
      )}
      {isSegment && <LimitField value={fields.limit} onValue={(limit) => set({ limit })} />}
      <TextField
        label={words.form.format}
        hint={words.form.formatHint}
        value={fields.format}
        testid="create-format"
        onValue={(format) => set({ format })}
      />
      <TextField
        label={words.common.description}
        value={fields.description}
        testid="create-description"
        onValue={(description) => set({ description })}
      />
    </Dialog>
  );
}

/** The fields as the server wants them, or what is wrong with one. */
function newTag(fields: Fields, words: Words): NewTag | string {
  const tag: NewTag = { tag: fields.name };
  if (fields.kind !== "segment") tag.kind = fields.kind;
  if (fields.format !== "") tag.format = fields.format;
  if (fields.description !== "") tag.description = fields.description;
  if (fields.kind !== "segment") return tag;
  if (fields.start.trim() !== "") {
    const start = wholeNumber(fields.start);
    if (start === null) return `${words.form.start}: ${words.form.notNumber}`;
    tag.start = start.toString();
  }
  if (fields.step.trim() !== "") {
    const step = wholeNumber(fields.step);
    if (step === null || step > BigInt(Number.MAX_SAFE_INTEGER)) return `${words.form.step}: ${words.form.notNumber}`;
    tag.step = Number(step);
  }
  if (fields.limit !== "") tag.limit = fields.limit;
  return tag;
}
