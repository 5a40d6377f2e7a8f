// Light, dark, or as the system: an attribute of the page that the styles look at.

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const STORED = "leafid.theme";

export function firstTheme(): Theme {
  const stored = localStorage.getItem(STORED);
  return stored === "light" || stored === "dark" ? stored : "auto";
}

export function showTheme(theme: Theme): void {
  localStorage.setItem(STORED, theme);
  document.documentElement.dataset["theme"] = theme;
}

/** The present colour of a custom property of the styles, for canvases. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
