/** The difference of two texts by words, and of two lists by items. */

import { html } from "./preact.js";

/** Words beyond which a text is shown whole, old and new: the table below grows with the square. */
const MOST_WORDS = 600;
/** Share of its words that a text has to keep: below it, a mixture of both could not be read. */
const KEPT_SHARE = 0.5;

/** Words with the space behind them; where there are no spaces, characters. */
const wordsOf = (text) => text.match(/(?:[A-Za-z0-9_'’-]+|\S|^)\s*/gu) ?? [];

/** [{kind: "same" | "old" | "new", text}] of a longest common subsequence. */
export function compare(before, after) {
  const [old, now] = [wordsOf(before), wordsOf(after)];
  const whole = [{ kind: "old", text: before }, { kind: "new", text: after }].filter(({ text }) => text);
  if (old.length > MOST_WORDS || now.length > MOST_WORDS) return whole;
  const parts = [];
  const add = (kind, text) => {
    const last = parts.at(-1);
    if (last?.kind === kind) last.text += text;
    else parts.push({ kind, text });
  };
  const common = commonLengths(old, now);
  if (common[0][0] < KEPT_SHARE * Math.max(old.length, now.length)) return whole;
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      add("same", old[i++]);
      j++;
    } else if (j >= now.length || (i < old.length && common[i + 1][j] >= common[i][j + 1])) {
      add("old", old[i++]);
    } else {
      add("new", now[j++]);
    }
  }
  return parts;
}

function commonLengths(old, now) {
  const table = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      table[i][j] =
        old[i] === now[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table;
}

const TAGS = { same: "span", old: "del", new: "ins" };

export function TextDiff({ before, after }) {
  const parts = compare(before ?? "", after ?? "");
  return html`
    <span class=${parts.some(({ kind }) => kind === "same") ? "" : "apart"}>
      ${parts.map(({ kind, text }) => html`<${TAGS[kind]}>${text}</${TAGS[kind]}>`)}
    </span>
  `;
}

/** Items that are all short stand in a row. */
const SHORT = 32;

export function List({ before, after }) {
  const earlier = before ?? after;
  const gone = earlier.filter((item) => !after.includes(item));
  const isShort = [...after, ...gone].every((item) => item.length <= SHORT);
  return html`
    <ul class=${isShort ? "chips" : "items"}>
      ${after.map((item) => {
        const kind = earlier.includes(item) ? "same" : "new";
        return html`<li><${TAGS[kind]}>${item}</${TAGS[kind]}></li>`;
      })}
      ${gone.map((item) => html`<li><del>${item}</del></li>`)}
    </ul>
  `;
}
