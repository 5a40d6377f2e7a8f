// A modal dialog with a title, a form, and buttons. The browser keeps the focus in it and closes it
// with Escape. One that states a risk asks to type a name first.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Problem } from "../api";
import { asProblem } from "../asked";
import { useWords } from "../words";
import { Field } from "./field";
import { ProblemNote } from "./problem_note";

interface DialogProps {
  title: string;
  submit: string;
  testid: string;
  onClose: () => void;
  /** What the submit button does; the dialog closes unless it throws or answers a text. */
  onSubmit: () => Promise<string | void>;
  /** The text to type before the submit button works; it makes the button red. */
  confirmation?: string;
  extra?: ComponentChildren;
  children?: ComponentChildren;
}

export function Dialog(props: DialogProps) {
  const words = useWords();
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const [problem, setProblem] = useState<Problem | null>(null);
  const [complaint, setComplaint] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const [typed, setTyped] = useState("");
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const isConfirmed = props.confirmation === undefined || typed === props.confirmation;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!isConfirmed || isBusy) return;
    setIsBusy(true);
    setProblem(null);
    setComplaint("");
    try {
      const text = await props.onSubmit();
      if (typeof text === "string") setComplaint(text);
      else props.onClose();
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      setIsBusy(false);
    }
  };
  const kind = props.confirmation === undefined ? "primary" : "danger";
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onClose={props.onClose} data-testid={props.testid}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        <h2 id={titleId}>{props.title}</h2>
        {props.children}
        {props.confirmation !== undefined && (
          <Field label={words.common.typeToConfirm(props.confirmation)}>
            {(id) => (
              <input
                id={id}
                value={typed}
                autocomplete="off"
                spellcheck={false}
                data-testid={`${props.testid}-confirm`}
                onInput={(event) => setTyped(event.currentTarget.value)}
              />
            )}
          </Field>
        )}
        {complaint !== "" && (
          <p class="problem" role="alert">
            {complaint}
          </p>
        )}
        <ProblemNote problem={problem} />
        <div class="buttons">
          {props.extra}
          <span class="spring" />
          <button type="button" onClick={() => dialog.current?.close()}>
            {words.common.cancel}
          </button>
          <button type="submit" class={kind} disabled={!isConfirmed || isBusy} data-testid={`${props.testid}-submit`}>
            {props.submit}
          </button>
        </div>
      </form>
    </dialog>
  );
}
