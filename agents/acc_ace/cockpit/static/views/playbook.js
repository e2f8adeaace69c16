/** The playbook: its bullets, the timeline of its deltas, what waits for review, its versions. */

import { html, useState } from "../lib/preact.js";
import { call } from "../lib/api.js";
import { useData } from "../lib/data.js";
import { number } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { href, OWN_APP } from "../lib/router.js";
import { Act, Button, Choice, Empty, Loaded, Raw, Search, Stats, Tabs, Tag, TextEditor } from "../lib/ui.js";
import { Held, Log, Refine, Versions } from "./playbook_log.js";

export const PATH = "v1/playbook";
const VIEWS = {
  bullets: "Bullets",
  log: "Timeline",
  held: "Review",
  versions: "Versions",
  refine: "Refine",
};

export default function Playbook({ route, app, user, me }) {
  const { view = "bullets", scope = "" } = route.query;
  const ask = { scope };
  const book = useData(PATH, ask);
  const held = useData(me.edits_playbook || scope === "user" ? `${PATH}/held` : null, ask);
  const [words, setWords] = useState("");
  const reload = () => [book, held].forEach((each) => each.reload());
  const link = (changes) => href(["playbook"], { app, user, ...route.query, ...changes });
  const Part = { log: Log, held: Held, versions: Versions, refine: Refine }[view] ?? Bullets;
  return html`
    <div class="page">
      <div class="head">
        <h1>${t("Playbook")}</h1>
        ${book.data && html`<${Tag}>${t("version {version}", book.data)}</${Tag}>`}
        <${Search} value=${words} onInput=${setWords} label=${t("Search lessons")} />
        <span class="grow"></span>
        <${Choice} label=${t("Whose playbook")} current=${scope}
          options=${[["", t("In use")], ["app", t("The app's")], ["user", t("My own")]]}
          onPick=${(id) => (location.hash = link({ scope: id }))} />
        <${Raw} path=${["held", "versions"].includes(view) ? `${PATH}/${view}` : PATH} query=${ask} />
      </div>
      ${book.data && html`<${Statistics} stats=${book.data.stats} />`}
      <${Tabs} label=${t("Playbook")} current=${view}
        tabs=${Object.entries(VIEWS).map(([id, title]) => ({
          id,
          title: t(title),
          count: id === "held" ? held.data?.items.length : 0,
          href: link({ view: id }),
        }))} />
      <${Loaded} of=${book}>${(data) => html`
        <${Part} key=${view + scope} book=${data} held=${held} ask=${ask} words=${words}
                 reload=${reload} />
      `}</${Loaded}>
    </div>
  `;
}

/** Figures, and how the sections cover the playbook. */
function Statistics({ stats }) {
  const { figures, sections = [] } = Object.groupBy(Object.entries(stats),
    ([name]) => (name.startsWith("in ") ? "sections" : "figures"));
  const share = (count) => `${Math.round((100 * count) / stats.bullets)}%`;
  return html`
    <${Stats} items=${figures.map(([name, value]) => [name, number(value)])} />
    <div class="window thin" role="img" aria-label=${t("Coverage by section")}>
      ${sections.map(([name, count], at) => html`<span class=${`p${at % 8}`} style=${{ width: share(count) }} title=${name.slice(3)}></span>`)}
    </div>
    <div class="row small muted legend">
      ${sections.map(([name, count], at) => html`<span class="row"><i class=${`swatch p${at % 8}`}></i>
        ${name.slice(3)} ${number(count)} · ${share(count)}</span>`)}
    </div>
  `;
}

export const fits = (words, ...texts) =>
  texts.join("\n").toLowerCase().includes(words.toLowerCase().trim());

function Bullets({ book, ask, words, reload }) {
  const found = book.bullets.filter(({ id, section, content }) => fits(words, id, section, content));
  const sections = Map.groupBy(found, ({ section }) => section);
  if (!book.bullets.length) return html`<${Empty}>${t("No lessons yet.")}</${Empty}>`;
  if (!sections.size) return html`<${Empty}>${t("Nothing matches the search.")}</${Empty}>`;
  return [...sections].map(([name, bullets]) => html`
    <section key=${name}>
      <h2>${name} <span class="count">${bullets.length}</span></h2>
      <ul class="cards">
        ${bullets.map((bullet) => html`
          <${Bullet} key=${bullet.id} bullet=${bullet} ask=${ask} reload=${reload} />
        `)}
      </ul>
    </section>
  `);
}

function Bullet({ bullet, ask, reload }) {
  const [isEdited, setEdited] = useState(false);
  const path = `${PATH}/bullets/${bullet.id}`;
  const shown = () => (setEdited(false), reload());
  const change = (body) => call("PATCH", path, { body, query: ask }).then(shown);
  return html`
    <li class="card">
      ${isEdited
        ? html`<${TextEditor} text=${bullet.content} label=${t("Lesson")}
                 save=${(content) => change({ content })} onClose=${() => setEdited(false)} />`
        : html`<p class="lead">${bullet.content}</p>`}
      <div class="row small">
        <code>${bullet.id}</code>
        <${Tag} kind="good" title=${t("Turns it helped")}>+${bullet.helpful}</${Tag}>
        <${Tag} kind=${bullet.harmful ? "bad" : ""} title=${t("Turns it harmed")}>−${bullet.harmful}</${Tag}>
        <${Tag} title=${t("Turns that used it with no effect")}>±${bullet.neutral}</${Tag}>
        ${bullet.pinned && html`<${Tag} kind="accent">${t("pinned")}</${Tag}>`}
        <${OriginLink} origin=${bullet.origin} />
        <span class="grow"></span>
        <${Button} kind="quiet" onClick=${() => setEdited(true)}>${t("Edit")}</${Button}>
        <${Act} kind="quiet" action=${() => change({ pinned: !bullet.pinned })}>
          ${bullet.pinned ? t("Unpin") : t("Pin")}
        </${Act}>
      </div>
    </li>
  `;
}

/** Where a lesson comes from, if that is a turn of one's own. */
export function OriginLink({ origin }) {
  if (!origin?.session) return null;
  const { app } = Object.fromEntries(new URLSearchParams(location.hash.split("?")[1]));
  const { user, session, turn } = origin;
  const to = href(["session", app || OWN_APP, user, session, "turn", String(turn), "chat"]);
  return html`<a class="muted" href=${to}>${session} · ${t("turn {turn}", { turn })}</a>`;
}

export const statusKind = (status) => ({ applied: "good", held: "warn", rejected: "bad" })[status];
