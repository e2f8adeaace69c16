/** A session as one HTML file that runs nothing and loads nothing; what the server masked stays masked. */

import { html, render } from "./preact.js";
import { get } from "./api.js";
import { when } from "./format.js";
import { t } from "./i18n.js";
import { Markdown } from "./markdown.js";
import { prefs } from "./prefs.js";

const PAGE = 200;
/** The oldest turns that a file holds; a longer session says so in it. */
const MOST_TURNS = 2_000;
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";
const STYLE = `body { font: 15px/1.5 system-ui, sans-serif; max-width: 760px; margin: 32px auto; padding: 0 16px; color: #1a1d23; }
pre { white-space: pre-wrap; background: #eef0f4; padding: 8px; border-radius: 6px; } p { white-space: pre-wrap; }
h2 { font-size: 13px; color: #596273; margin: 24px 0 4px; } table { border-collapse: collapse; } td, th { border: 1px solid #b7bdc9; padding: 4px 8px; }
.said { white-space: pre-wrap; background: #dfe7fc; padding: 8px 12px; border-radius: 12px; } .note { color: #596273; font-size: 12px; }`;

async function allTurns(base) {
  const turns = [];
  for (let cursor = null; turns.length < MOST_TURNS; ) {
    const page = await get(`${base}/turns`, { order: "oldest", limit: PAGE, cursor });
    turns.push(...page.items);
    cursor = page.next_cursor;
    if (!cursor) return { turns, isCut: false };
  }
  return { turns, isCut: true };
}

/** Give the file to the person at the page. */
export async function share(base, { session, app }, rules) {
  const { turns, isCut } = await allTurns(base);
  const page = document.implementation.createHTMLDocument(session);
  page.documentElement.lang = prefs.lang;
  const add = (tag, fields) => page.head.append(Object.assign(page.createElement(tag), fields));
  add("meta", { httpEquiv: "Content-Security-Policy", content: POLICY });
  add("meta", { name: "viewport", content: "width=device-width, initial-scale=1" });
  add("style", { textContent: STYLE });
  render(html`<${Transcript} ...${{ session, app, rules, turns, isCut }} />`, page.body);
  const text = `<!doctype html>\n<meta charset="utf-8">\n${new XMLSerializer().serializeToString(page.documentElement)}`;
  const address = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  Object.assign(document.createElement("a"), { href: address, download: `${session}.html` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

const Transcript = ({ session, app, rules, turns, isCut }) => html`
  <main>
    <h1>${session}</h1>
    <p class="note">${app} · ${when(new Date().toISOString())}</p>
    ${rules.length > 0 && html`<h2>${t("In force now")}</h2><ul>${rules.map(({ text }) => html`<li>${text}</li>`)}</ul>`}
    ${turns.map(({ turn, at, outcome, input, tools, answer, notes, models }) => html`
      <h2>${t("turn {turn}", { turn })} · ${when(at)} · ${models.generator} ${outcome !== "answered" && t(outcome)}</h2>
      <div class="said">${input.text}</div>
      ${input.attachments.map((source) => html`<p class="note">${t("attachment")}: ${source}</p>`)}
      ${tools.map(({ name, arguments: args, result }) => html`<pre>${name}(${args})\n${result ?? t("no result")}</pre>`)}
      <${Markdown} text=${answer} />
      ${notes.map((note) => html`<p class="note">${note}</p>`)}
    `)}
    ${isCut && html`<p class="note">${t("This file ends here: it holds {count} turns.", { count: turns.length })}</p>`}
  </main>
`;
