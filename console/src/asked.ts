// Asks the server for what a page shows, and again after a change; while the page is visible also
// each so many seconds, for what the stream does not carry.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "./api";

export interface Asked<T> {
  /** The last answer; kept while a later question fails. */
  value: T | null;
  problem: Problem | null;
  reload: () => void;
}

/** Asks when `key` changes, and each `everySeconds` if that is given. */
export function useAsked<T>(key: string, ask: () => Promise<T>, everySeconds?: number): Asked<T> {
  const [answer, setAnswer] = useState<{ key: string; value: T } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const question = useRef(0);
  const hasAnswer = useRef(false);
  const latest = useRef(ask);
  latest.current = ask;
  const reload = useCallback(() => {
    const own = ++question.current;
    latest.current().then(
      (value) => {
        if (own !== question.current) return;
        hasAnswer.current = true;
        setAnswer({ key, value });
        setProblem(null);
      },
      (error: unknown) => {
        if (own !== question.current) return;
        const problem = asProblem(error);
        // Of a lost server the banner tells; what was answered before stays.
        if (problem.status !== 0 || !hasAnswer.current) setProblem(problem);
      },
    );
  }, [key]);
  useEffect(() => {
    reload();
    if (everySeconds === undefined) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState !== "hidden") reload();
    }, everySeconds * 1000);
    return () => clearInterval(timer);
  }, [reload, everySeconds]);
  useEffect(() => () => void ++question.current, []);
  return { value: answer?.value ?? null, problem, reload };
}

export function asProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, { detail: String(error) });
}
