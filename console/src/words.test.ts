// Guards the dictionaries: the compiler compares their keys, except in lists that are looked up by
// a word of the server.
import { expect, it } from "vitest";
import { en } from "./words/en";
import { zh } from "./words/zh";

function keys(value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null) return [`${path}:${typeof value}`];
  return Object.entries(value).flatMap(([key, inner]) => keys(inner, `${path}.${key}`));
}

it("has the same keys in both languages", () => {
  expect(keys(zh).sort()).toEqual(keys(en).sort());
});

it("leaves nothing in English but names", () => {
  const names = ["language", "otherLanguage", "maxId"];
  const untranslated: string[] = [];
  const compare = (a: unknown, b: unknown, key: string) => {
    if (typeof a === "string" && a === b && !names.includes(key)) untranslated.push(key);
    if (typeof a !== "object" || a === null) return;
    for (const [inner, value] of Object.entries(a)) compare(value, (b as Record<string, unknown>)[inner], inner);
  };
  compare(en, zh, "");
  expect(untranslated).toEqual([]);
});
