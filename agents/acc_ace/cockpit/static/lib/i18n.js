/** Words in the language of the reader. English is the key of each; `ja.json` has the Japanese. */

let words = {};

/** Have the words of a language at hand; without its file the page stays English. */
export async function loadWords(lang) {
  const response = lang === "en" ? null : await fetch(`${lang}.json`).catch(() => null);
  words = response?.ok ? await response.json() : {};
}

/** The text, with {names} filled in. */
export function t(text, values = {}) {
  const said = words[text] ?? text;
  return said.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
