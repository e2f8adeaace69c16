/** What a person chose for this browser: language and colours. */

import { useEffect, useState } from "./preact.js";
import { loadWords } from "./i18n.js";

const THEMES = ["auto", "light", "dark"];
const listeners = new Set();

/** None where the browser closes it to the page: then choices last until the page is left. */
const storage = (() => {
  try {
    return localStorage;
  } catch {
    return null;
  }
})();

export const prefs = {
  lang: storage?.getItem("acc-ace.lang") ?? (navigator.language.startsWith("ja") ? "ja" : "en"),
  theme: storage?.getItem("acc-ace.theme") ?? "auto",
};

async function choose(name, value) {
  prefs[name] = value;
  storage?.setItem(`acc-ace.${name}`, value);
  await applyPrefs();
  for (const listener of listeners) listener({});
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

/** Show the page as chosen; to be awaited before the first drawing. */
export async function applyPrefs() {
  Object.assign(document.documentElement, { lang: prefs.lang }).dataset.theme = prefs.theme;
  await loadWords(prefs.lang);
}
