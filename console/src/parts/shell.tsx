// What surrounds every page: the list of pages, the server's name and state, who is logged in.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Live } from "../live";
import { PAGES, pageLink, type Route } from "../route";
import type { Session } from "../shapes";
import { useWords } from "../words";
import { Logo } from "./logo";
import { OfflineBanner } from "./offline_banner";
import { Preferences } from "./preferences";

interface ShellProps {
  route: Route;
  live: Live;
  session: Session;
  onLanguage: () => void;
  onLogOut: () => void;
  children: ComponentChildren;
}

export function Shell({ route, live, session, onLanguage, onLogOut, children }: ShellProps) {
  const words = useWords();
  const [isOpen, setIsOpen] = useState(false);
  const content = useRef<HTMLElement>(null);
  useEffect(() => {
    setIsOpen(false);
    scrollTo(0, 0);
  }, [route.page, route.tag]);
  const skip = (event: Event) => {
    event.preventDefault();
    content.current?.focus();
  };
  return (
    <div class={live.lostSince === null ? "shell" : "shell lost"}>
      <header class="top">
        <a class="skip" href="#/" onClick={skip}>
          {words.shell.skip}
        </a>
        <a class="brand" href="#/">
          <Logo /> <span>Leafid</span>
        </a>
        <ServerState live={live} session={session} />
        <span class="spring" />
        <Preferences onLanguage={onLanguage} />
        {session.token !== null && (
          <>
            <span class="who" data-testid="token-name">
              {words.shell.loggedInAs(session.token)}
              {!session.admin && ` (${words.shell.readOnly})`}
            </span>
            <button type="button" class="quiet" onClick={onLogOut} data-testid="log-out">
              {words.shell.logOut}
            </button>
          </>
        )}
        <button
          type="button"
          class="menu-button"
          aria-expanded={isOpen}
          aria-controls="pages"
          onClick={() => setIsOpen(!isOpen)}
          data-testid="menu"
        >
          {words.shell.menu}
        </button>
      </header>
      <nav id="pages" class={isOpen ? "pages open" : "pages"} aria-label={words.shell.navigation}>
        <ul>
          {PAGES.filter((page) => page !== "audit" || session.admin).map((page) => (
            <li key={page}>
              <a
                href={pageLink(page)}
                aria-current={route.page === page ? "page" : undefined}
                data-testid={`nav-${page}`}
              >
                {words.pages[page]}
              </a>
            </li>
          ))}
        </ul>
        <p class="version">Leafid {session.version}</p>
      </nav>
      <main ref={content} tabIndex={-1} id="content">
        <OfflineBanner lostSince={live.lostSince} />
        <div class="page">{children}</div>
      </main>
    </div>
  );
}

function ServerState({ live, session }: { live: Live; session: Session }) {
  const words = useWords();
  const server = live.overview?.server;
  const isReady = server?.ready ?? true;
  const storeIsDown = live.overview?.store?.state === "down";
  return (
    <span class="server" data-testid="server-name">
      <b>{server?.name ?? session.server}</b>
      {server !== undefined && (
        <span class={isReady ? "mark ok" : "mark error"} data-testid="server-ready">
          {isReady ? words.shell.ready : words.shell.notReady}
        </span>
      )}
      {storeIsDown && (
        <span class="mark error">
          {words.overview.store} {words.overview.storeState.down}
        </span>
      )}
    </span>
  );
}
