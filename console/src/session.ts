// Who is logged in, for all pages: whether changes may be offered.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Session } from "./shapes";

export const SessionContext = createContext<Session | null>(null);

/** Whether the caller may change things; buttons that do are not shown otherwise. */
export function useMayChange(): boolean {
  return useContext(SessionContext)?.admin === true;
}

export function useSession(): Session | null {
  return useContext(SessionContext);
}
