// Which language the pages speak: the one that was chosen, or else the browser's.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { en } from "./words/en";
import { zh } from "./words/zh";

/** All texts of the console. A key that a dictionary lacks is a compile error. */
export type Words = typeof en;

export const LANGUAGES = ["en", "zh-CN"] as const;
export type Language = (typeof LANGUAGES)[number];

const STORED = "leafid.language";

export function firstLanguage(): Language {
  const stored = localStorage.getItem(STORED);
  if (stored === "en" || stored === "zh-CN") return stored;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
}

export function rememberLanguage(language: Language): void {
  localStorage.setItem(STORED, language);
}

export function wordsOf(language: Language): Words {
  return language === "en" ? en : zh;
}

export const WordsContext = createContext<Words>(en);

export function useWords(): Words {
  return useContext(WordsContext);
}
