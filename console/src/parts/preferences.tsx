// The choice of language and colours, at the top of every page.
import { useState } from "preact/hooks";
import { firstTheme, showTheme, type Theme, THEMES } from "../theme";
import { useWords } from "../words";

/** A sun, a moon, and for the system's choice a half circle. */
const PICTURES: Record<Theme, string> = {
  auto: "M10 3a7 7 0 1 0 0 14a7 7 0 1 0 0-14Z",
  light:
    "M10 6.5a3.5 3.5 0 1 0 0 7a3.5 3.5 0 1 0 0-7M10 1.5v2M10 16.5v2M1.5 10h2M16.5 10h2M4 4l1.4 1.4M14.6 14.6L16 16M4 16l1.4-1.4M14.6 5.4L16 4",
  dark: "M16.5 12A7 7 0 0 1 8 3.5a7 7 0 1 0 8.5 8.5Z",
};

export function Preferences({ onLanguage }: { onLanguage: () => void }) {
  const words = useWords();
  const [theme, setTheme] = useState<Theme>(firstTheme);
  const change = () => {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "auto";
    setTheme(next);
    showTheme(next);
  };
  const text = `${words.shell.theme}: ${words.shell.themes[theme]}`;
  return (
    <div class="preferences">
      <button type="button" class="quiet" onClick={onLanguage} data-testid="language">
        <span lang={words.language === "en" ? "zh-CN" : "en"}>{words.otherLanguage}</span>
      </button>
      <button type="button" class="quiet picture" onClick={change} aria-label={text} title={text} data-testid="theme">
        <svg viewBox="0 0 20 20" width="17" height="17" aria-hidden="true">
          <path
            d={PICTURES[theme]}
            fill={theme === "dark" ? "currentColor" : "none"}
            stroke="currentColor"
            stroke-width="1.5"
            stroke-linecap="round"
          />
          {theme === "auto" && <path d="M10 3a7 7 0 1 0 0 14Z" fill="currentColor" />}
        </svg>
      </button>
    </div>
  );
}
