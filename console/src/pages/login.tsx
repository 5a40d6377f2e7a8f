// The login page: asks for a token, which the server puts into a cookie.
import { useState } from "preact/hooks";
import { api, type Problem } from "../api";
import { asProblem } from "../asked";
import { Field } from "../parts/field";
import { Logo } from "../parts/logo";
import { OfflineBanner } from "../parts/offline_banner";
import { Preferences } from "../parts/preferences";
import { ProblemNote } from "../parts/problem_note";
import type { Session } from "../shapes";
import { useWords } from "../words";

interface LoginProps {
  session: Session;
  lostSince: Date | null;
  onLogIn: (session: Session) => void;
  onLanguage: () => void;
}

export function Login({ session, lostSince, onLogIn, onLanguage }: LoginProps) {
  const words = useWords();
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    setProblem(null);
    api.logIn(token.trim()).then(onLogIn, (error: unknown) => setProblem(asProblem(error)));
  };
  const isWrong = problem?.status === 401;
  return (
    <main class="login">
      <OfflineBanner lostSince={lostSince} isFirst />
      <form onSubmit={submit}>
        <h1>
          <Logo /> Leafid
        </h1>
        <p class="server-name">{session.server}</p>
        <Field label={words.login.token} hint={words.login.note}>
          {(id, hintId) => (
            <input
              id={id}
              type="password"
              autocomplete="current-password"
              required
              value={token}
              aria-describedby={hintId}
              aria-invalid={isWrong}
              data-testid="login-token"
              onInput={(event) => setToken(event.currentTarget.value)}
            />
          )}
        </Field>
        {isWrong ? (
          <p class="problem" role="alert" data-testid="login-wrong">
            {words.login.wrong}
          </p>
        ) : (
          <ProblemNote problem={problem} />
        )}
        <button type="submit" class="primary" disabled={token.trim() === ""} data-testid="login-submit">
          {words.login.submit}
        </button>
        <p class="hint">{words.login.readOnlyNote}</p>
      </form>
      <Preferences onLanguage={onLanguage} />
    </main>
  );
}
