// Sets and removes a quota: of a tag, a token, or the whole server.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, type Problem } from "../api";
import { asProblem } from "../asked";
import { wholeNumber } from "../numbers";
import type { Quota } from "../shapes";
import { Dialog } from "../parts/dialog";
import { TextField } from "../parts/field";
import { ProblemNote } from "../parts/problem_note";
import { useWords, type Words } from "../words";

interface QuotaDialogProps {
  on: Quota["on"];
  name: string | null;
  onClose: () => void;
  onDone: () => void;
}

function titleOf(on: Quota["on"], name: string | null, words: Words): string {
  if (on === "server") return words.form.quotaServerTitle;
  return on === "tag" ? words.form.quotaTitle(name ?? "") : words.form.quotaTokenTitle(name ?? "");
}

export function QuotaDialog({ on, name, onClose, onDone }: QuotaDialogProps) {
  const words = useWords();
  const [text, setText] = useState("");
  const [isSet, setIsSet] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const hasTyped = useRef(false);
  useEffect(() => {
    api.quotas().then(
      ({ quotas }) => {
        const found = quotas.find((quota) => quota.on === on && quota.name === name);
        if (found === undefined) return;
        setIsSet(true);
        if (!hasTyped.current) setText(String(found.ids_per_second));
      },
      (error: unknown) => setProblem(asProblem(error)),
    );
  }, []);
  const submit = async () => {
    const number = wholeNumber(text);
    if (number === null || number > BigInt(Number.MAX_SAFE_INTEGER)) return words.form.notNumber;
    await api.setQuota(on, name, Number(number));
    return onDone();
  };
  const remove = () =>
    void api.removeQuota(on, name).then(
      () => {
        onDone();
        onClose();
      },
      (error: unknown) => setProblem(asProblem(error)),
    );
  return (
    <Dialog
      title={titleOf(on, name, words)}
      submit={words.form.quotaSet}
      testid="quota-dialog"
      onClose={onClose}
      onSubmit={submit}
      extra={
        isSet && (
          <button type="button" onClick={remove} data-testid="quota-remove">
            {words.form.quotaRemove}
          </button>
        )
      }
    >
      <p class="hint">{words.form.quotaText}</p>
      <TextField
        label={words.form.quotaInput}
        value={text}
        testid="quota-input"
        isNumber
        onValue={(value) => {
          hasTyped.current = true;
          setText(value);
        }}
      />
      <ProblemNote problem={problem} />
    </Dialog>
  );
}
