// A labelled field of a form, with a hint that screen readers read along.
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  label: string;
  hint?: string;
  children: (id: string, hintId: string | undefined) => ComponentChildren;
}

export function Field({ label, hint, children }: FieldProps) {
  const id = useId();
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id, hintId)}
      {hint !== undefined && (
        <small id={hintId} class="hint">
          {hint}
        </small>
      )}
    </div>
  );
}

interface TextFieldProps {
  label: string;
  hint?: string;
  value: string;
  testid: string;
  isNumber?: boolean;
  placeholder?: string;
  onValue: (value: string) => void;
}

export function TextField(props: TextFieldProps) {
  return (
    <Field label={props.label} {...(props.hint === undefined ? {} : { hint: props.hint })}>
      {(id, hintId) => (
        <input
          id={id}
          aria-describedby={hintId}
          value={props.value}
          placeholder={props.placeholder}
          inputMode={props.isNumber === true ? "numeric" : undefined}
          autocomplete="off"
          spellcheck={false}
          data-testid={props.testid}
          onInput={(event) => props.onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface SelectFieldProps {
  label: string;
  hint?: string;
  value: string;
  testid: string;
  options: readonly (readonly [value: string, text: string])[];
  onValue: (value: string) => void;
}

export function SelectField(props: SelectFieldProps) {
  return (
    <Field label={props.label} {...(props.hint === undefined ? {} : { hint: props.hint })}>
      {(id, hintId) => (
        <select
          id={id}
          aria-describedby={hintId}
          value={props.value}
          data-testid={props.testid}
          onChange={(event) => props.onValue(event.currentTarget.value)}
        >
          {props.options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
