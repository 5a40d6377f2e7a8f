// Routes in the address's hash: `#/tags/NAME?sort=rate`. Owns how they are read and written.
import { useEffect, useState } from "preact/hooks";

export const PAGES = ["overview", "tags", "workers", "servers", "decode", "audit", "findings"] as const;
export type Page = (typeof PAGES)[number];

export interface Route {
  page: Page | "unknown";
  /** The tag of `#/tags/NAME`. */
  tag: string | null;
  query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = splitOnce(hash.replace(/^#/, ""), "?");
  const parts = path.split("/").filter((part) => part !== "");
  const [first = "overview", ...rest] = parts;
  const isKnown = (PAGES as readonly string[]).includes(first);
  const tag = first === "tags" && rest.length > 0 ? decoded(rest.join("/")) : null;
  const page = isKnown && (rest.length === 0 || tag !== null) ? (first as Page) : "unknown";
  return { page, tag, query: new URLSearchParams(query) };
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function pageLink(page: Page): string {
  return page === "overview" ? "#/" : `#/${page}`;
}

export function tagLink(tag: string): string {
  return `#/tags/${encodeURIComponent(tag)}`;
}

/** Goes on from the page of a tag, or from the list of tags (null), unless the user has left it. */
export function goFromTag(tag: string | null, to: string): void {
  const here = parseRoute(location.hash);
  if (here.page === "tags" && here.tag === tag) location.hash = to;
}

/** The present route; the component is drawn anew when it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const read = () => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  return route;
}
