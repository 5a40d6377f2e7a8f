// Copies a text to the clipboard, where the browser allows it.
import { useState } from "preact/hooks";
import { useWords } from "../words";

export function CopyButton({ text }: { text: string }) {
  const words = useWords();
  const [copied, setCopied] = useState<string | null>(null);
  // Plain HTTP from another machine has no clipboard.
  if (navigator.clipboard === undefined) return null;
  const copy = () =>
    void navigator.clipboard.writeText(text).then(
      () => setCopied(text),
      () => {},
    );
  return (
    <button type="button" class="quiet" onClick={copy}>
      {copied === text ? words.common.copied : words.common.copy}
    </button>
  );
}
