// What the server found out about its own configuration and surroundings, and what to do.
import { api } from "../api";
import { useAsked } from "../asked";
import { LevelMark } from "../parts/level_mark";
import { ProblemNote } from "../parts/problem_note";
import { useWords } from "../words";

const RELOAD_SECONDS = 30;

export function Findings() {
  const words = useWords();
  const { value, problem } = useAsked("findings", api.findings, RELOAD_SECONDS);
  return (
    <>
      <div class="title-row">
        <h1>{words.pages.findings}</h1>
        <span class="hint">{words.findings.intro}</span>
      </div>
      <ProblemNote problem={problem} />
      {value === null && problem === null && <p class="empty">{words.common.loading}</p>}
      {value !== null && value.findings.length === 0 && (
        <p class="panel" data-testid="no-findings">
          {words.findings.none}
        </p>
      )}
      {value !== null && value.findings.length > 0 && (
        <ul class="findings panel" data-testid="findings">
          {value.findings.map((finding) => (
            <li key={`${finding.code} ${finding.what}`} data-testid={`finding-${finding.code}`}>
              <LevelMark level={finding.level} />
              <div>
                <p>{finding.what}</p>
                <p class="meaning">
                  <b>{words.findings.next}</b> {finding.next}
                </p>
              </div>
              <code class="hint">{finding.code}</code>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
