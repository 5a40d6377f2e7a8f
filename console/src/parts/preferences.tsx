// The choice of language and colours, at the top of every page.
import { useState } from "preact/hooks";
import { firstTheme, showTheme, type Theme, THEMES } from "../theme";
import { useWords } from "../words";

export function Preferences({ onLanguage }: { onLanguage: () => void }) {
  const words = useWords();
  const [theme, setTheme] = useState<Theme>(firstTheme);
  const change = (theme: Theme) => {
    setTheme(theme);
    showTheme(theme);
  };
  return (
    <div class="preferences">
      <button type="button" class="quiet" onClick={onLanguage} data-testid="language">
        <span lang={words.language === "en" ? "zh-CN" : "en"}>{words.otherLanguage}</span>
      </button>
      <label class="unseen" for="theme">
        {words.shell.theme}
      </label>
      <select
        id="theme"
        class="quiet"
        value={theme}
        data-testid="theme"
        onChange={(event) => change(event.currentTarget.value as Theme)}
      >
        {THEMES.map((name) => (
          <option key={name} value={name}>
            {words.shell.themes[name]}
          </option>
        ))}
      </select>
    </div>
  );
}
