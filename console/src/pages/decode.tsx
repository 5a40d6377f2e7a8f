// Decodes pasted ids: by the server's own layout, by a tag, and by every family that fits.
import { useEffect, useState } from "preact/hooks";
import { api, type Problem } from "../api";
import { asProblem } from "../asked";
import { Field, TextField } from "../parts/field";
import { ProblemNote } from "../parts/problem_note";
import type { Decoded } from "../shapes";
import { useWords } from "../words";
import { DecodedId } from "./decoded_id";

const IDS_MAX = 20;

type Result = { id: string; decoded: Decoded } | { id: string; problem: Problem };

async function decodeOne(id: string, tag: string): Promise<Result> {
  try {
    return { id, decoded: await api.decode(id, tag) };
  } catch (error) {
    return { id, problem: asProblem(error) };
  }
}

/** One id a line; quotes and commas around it, as in JSON, do not belong to it. */
export function idsIn(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim().replace(/^["']|["'],?$|,$/g, ""));
  return [...new Set(lines.filter((line) => line !== ""))];
}

export function DecodePage({ query }: { query: URLSearchParams }) {
  const words = useWords();
  const [text, setText] = useState(query.get("id") ?? "");
  const [tag, setTag] = useState(query.get("tag") ?? "");
  const [results, setResults] = useState<Result[]>([]);
  const [isBusy, setIsBusy] = useState(false);
  const ids = idsIn(text);
  const decode = async () => {
    setIsBusy(true);
    setResults(await Promise.all(ids.slice(0, IDS_MAX).map((id) => decodeOne(id, tag.trim()))));
    setIsBusy(false);
  };
  useEffect(() => {
    if (ids.length > 0) void decode();
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    // A single line is decoded with Enter; Shift adds another.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (ids.length > 0) void decode();
  };
  return (
    <>
      <h1>{words.pages.decode}</h1>
      <form
        class="panel decode-form"
        onSubmit={(event) => {
          event.preventDefault();
          void decode();
        }}
      >
        <Field label={words.decode.label} hint={words.decode.hint}>
          {(id, hintId) => (
            <textarea
              id={id}
              rows={Math.min(Math.max(text.split("\n").length, 2), 10)}
              value={text}
              aria-describedby={hintId}
              spellcheck={false}
              data-testid="decode-input"
              onInput={(event) => setText(event.currentTarget.value)}
              onKeyDown={onKeyDown}
            />
          )}
        </Field>
        <TextField
          label={`${words.decode.tag} (${words.common.optional})`}
          hint={words.decode.tagHint}
          value={tag}
          testid="decode-tag"
          onValue={setTag}
        />
        <div class="buttons">
          <button type="submit" class="primary" disabled={ids.length === 0 || isBusy} data-testid="decode-submit">
            {words.decode.submit}
          </button>
          {ids.length > IDS_MAX && <span class="hint">{words.decode.atMost(String(IDS_MAX))}</span>}
        </div>
      </form>
      <div class="results" aria-live="polite" data-testid="decode-results">
        {results.map((result) => (
          <section class="panel" key={result.id} data-testid="decoded">
            <h2>
              <code class="decoded-id">{result.id}</code>
            </h2>
            {"problem" in result ? <ProblemNote problem={result.problem} /> : <DecodedId decoded={result.decoded} />}
          </section>
        ))}
      </div>
    </>
  );
}
