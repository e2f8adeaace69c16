/** What a person chose for this browser: language and colours. */

import { useEffect, useState } from "./preact.js";
import { loadWords } from "./i18n.js";

const THEMES = ["auto", "light", "dark"];
const listeners = new Set();

const kept = (name) => {
  try {
    return localStorage.getItem(`acc-ace.${name}`);
  } catch {
    return null; // Storage is closed to this page: choices last until it is.
  }
};

export const prefs = {
  lang: kept("lang") ?? (navigator.language.startsWith("ja") ? "ja" : "en"),
  theme: kept("theme") ?? "auto",
};

async function choose(name, value) {
  if (name === "lang") await loadWords(value);
  prefs[name] = value;
  try {
    localStorage.setItem(`acc-ace.${name}`, value);
  } catch {
    // As above.
  }
  show();
  for (const listener of listeners) listener({});
}

function show() {
  document.documentElement.lang = prefs.lang;
  document.documentElement.dataset.theme = prefs.theme;
}

export const nextLang = () => choose("lang", prefs.lang === "en" ? "ja" : "en");
export const nextTheme = () =>
  choose("theme", THEMES[(THEMES.indexOf(prefs.theme) + 1) % THEMES.length]);

/** Draw the component again when a choice changes. */
export function usePrefs() {
  const [, changed] = useState({});
  useEffect(() => {
    listeners.add(changed);
    return () => listeners.delete(changed);
  }, []);
  return prefs;
}

/** Show the page as chosen before; to be awaited before the first drawing. */
export async function applyPrefs() {
  show();
  await loadWords(prefs.lang);
}
