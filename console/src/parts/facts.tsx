// A list of names and values, as in the panels of the overview.
import type { ComponentChildren } from "preact";

export type Fact = readonly [name: string, value: ComponentChildren] | null;

export function Facts({ facts, testid }: { facts: readonly Fact[]; testid?: string }) {
  return (
    <dl class="facts" data-testid={testid}>
      {facts.map((fact) =>
        fact === null ? null : (
          <div key={fact[0]}>
            <dt>{fact[0]}</dt>
            <dd>{fact[1]}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
