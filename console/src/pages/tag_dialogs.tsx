// The dialogs that change a tag: which one is open, and those with a few fields. Creating and
// changing have files of their own.
import { useEffect, useState } from "preact/hooks";
import { api } from "../api";
import { grouped, wholeNumber } from "../numbers";
import { Dialog } from "../parts/dialog";
import { TextField } from "../parts/field";
import { useWords } from "../words";
import { QuotaDialog } from "./quota_dialog";
import { ChangeTagDialog } from "./tag_change_dialog";
import { CreateTagDialog } from "./tag_create_dialog";

export type TagDialogKind = "create" | "change" | "raise" | "quota" | "delete";

interface TagDialogProps {
  kind: TagDialogKind;
  /** Null for a new tag. */
  tag: string | null;
  onClose: () => void;
  /** Called after the change. */
  onDone: () => void;
}

export function TagDialog({ kind, tag, onClose, onDone }: TagDialogProps) {
  if (tag === null) return <CreateTagDialog onClose={onClose} />;
  switch (kind) {
    case "change":
      return <ChangeTagDialog tag={tag} onClose={onClose} onDone={onDone} />;
    case "raise":
      return <RaiseDialog tag={tag} onClose={onClose} onDone={onDone} />;
    case "quota":
      return <QuotaDialog on="tag" name={tag} onClose={onClose} onDone={onDone} />;
    default:
      return <DeleteDialog tag={tag} onClose={onClose} onDone={onDone} />;
  }
}

interface OneTagProps {
  tag: string;
  onClose: () => void;
  onDone: () => void;
}

function RaiseDialog({ tag, onClose, onDone }: OneTagProps) {
  const words = useWords();
  const [next, setNext] = useState("");
  const [maxId, setMaxId] = useState<string | null>(null);
  useEffect(() => {
    api.tag(tag).then(
      (detail) => setMaxId(detail.tag.max_id),
      () => {},
    );
  }, [tag]);
  const submit = async () => {
    const number = wholeNumber(next);
    if (number === null) return words.form.notNumber;
    await api.changeTag(tag, { next: number.toString() });
    return onDone();
  };
  return (
    <Dialog
      title={words.form.raiseTitle(tag)}
      submit={words.form.raiseSubmit}
      testid="raise-dialog"
      onClose={onClose}
      onSubmit={submit}
    >
      <p>{words.form.raiseText}</p>
      <TextField
        label={words.form.raiseNext}
        value={next}
        testid="raise-next"
        isNumber
        {...(maxId === null ? {} : { hint: words.form.raiseNow(grouped(maxId)) })}
        onValue={setNext}
      />
    </Dialog>
  );
}

function DeleteDialog({ tag, onClose, onDone }: OneTagProps) {
  const words = useWords();
  return (
    <Dialog
      title={words.form.deleteTitle(tag)}
      submit={words.form.deleteSubmit}
      testid="delete"
      confirmation={tag}
      onClose={onClose}
      onSubmit={async () => {
        await api.deleteTag(tag);
        onDone();
      }}
    >
      <p>{words.form.deleteText}</p>
    </Dialog>
  );
}
