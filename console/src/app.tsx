// The whole console: session, language, the stream, and which page is shown.
import { useCallback, useEffect, useState } from "preact/hooks";
import { api } from "./api";
import { useLive, useStream } from "./live";
import { Audit } from "./pages/audit";
import { DecodePage } from "./pages/decode";
import { Findings } from "./pages/findings";
import { Login } from "./pages/login";
import { OverviewPage } from "./pages/overview";
import { Servers } from "./pages/servers";
import { TagPage } from "./pages/tag";
import { Tags } from "./pages/tags";
import { Unknown } from "./pages/unknown";
import { WorkersPage } from "./pages/workers";
import { OfflineBanner } from "./parts/offline_banner";
import { Shell } from "./parts/shell";
import { type Route, useRoute } from "./route";
import { SessionContext } from "./session";
import type { Session } from "./shapes";
import { firstLanguage, rememberLanguage, WordsContext, wordsOf } from "./words";

const RETRY_MS = 2_000;

export function App() {
  const [language, setLanguage] = useState(firstLanguage);
  const [session, setSession] = useState<Session | null>(null);
  const route = useRoute();
  const words = wordsOf(language);
  const read = useCallback(() => {
    api.session().then(setSession, () => setTimeout(read, RETRY_MS));
  }, []);
  useEffect(read, []);
  useEffect(() => {
    document.documentElement.lang = language;
    rememberLanguage(language);
  }, [language]);
  const isLoggedIn = session !== null && (!session.needs_token || session.token !== null);
  useStream(isLoggedIn, route.tag, read);
  const live = useLive();
  const title = route.tag ?? words.pages[route.page];
  useEffect(() => {
    document.title = `${title} – Leafid${session === null ? "" : ` ${session.server}`}`;
  }, [title, session]);
  const switchLanguage = () => setLanguage(language === "en" ? "zh-CN" : "en");
  const logOut = () => void api.logOut().then(read, read);
  return (
    <WordsContext.Provider value={words}>
      <SessionContext.Provider value={session}>
        {isLoggedIn ? (
          <Shell route={route} live={live} session={session} onLanguage={switchLanguage} onLogOut={logOut}>
            <PageOf key={`${route.page} ${route.tag ?? ""} ${route.query}`} route={route} />
          </Shell>
        ) : session === null ? (
          <OfflineBanner lostSince={live.lostSince} isFirst />
        ) : (
          <Login session={session} onLogIn={setSession} onLanguage={switchLanguage} lostSince={live.lostSince} />
        )}
      </SessionContext.Provider>
    </WordsContext.Provider>
  );
}

function PageOf({ route }: { route: Route }) {
  const live = useLive();
  switch (route.page) {
    case "overview":
      return <OverviewPage overview={live.overview} />;
    case "tags":
      return route.tag === null ? <Tags query={route.query} /> : <TagPage name={route.tag} live={live} />;
    case "workers":
      return <WorkersPage />;
    case "servers":
      return <Servers />;
    case "decode":
      return <DecodePage query={route.query} />;
    case "audit":
      return <Audit />;
    case "findings":
      return <Findings />;
    case "unknown":
      return <Unknown />;
  }
}
