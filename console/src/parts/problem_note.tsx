// Why a call failed and what to do about it, in the server's words.
import type { Problem } from "../api";
import { useWords } from "../words";

export function ProblemNote({ problem }: { problem: Problem | null }) {
  const words = useWords();
  if (problem === null) return null;
  const text = problem.status === 0 && problem.message === "" ? words.common.unreachable : problem.message;
  return (
    <div class="problem" role="alert" data-testid="problem" data-code={problem.code}>
      <p>{text}</p>
      {problem.next !== null && (
        <p>
          <b>{words.common.whatToDo}</b> {problem.next}
        </p>
      )}
    </div>
  );
}
