/** Search in what was said: the turns of this session first, then other sessions and documents. */

import { html, useState } from "../lib/preact.js";
import { useData } from "../lib/data.js";
import { t } from "../lib/i18n.js";
import { href } from "../lib/router.js";
import { Empty, Loaded, Notice, Tag } from "../lib/ui.js";

const MOST_HITS = 50;

export function Find({ place }) {
  const [words, setWords] = useState("");
  const found = useData(words ? "v1/memory/search" : null, { q: words, limit: MOST_HITS });
  const search = (event) => (event.preventDefault(), setWords(event.target.elements.words.value.trim()));
  return html`
    <form class="row" role="search" onSubmit=${search}>
      <input type="search" class="grow" name="words" data-search aria-label=${t("Search the turns")}
        placeholder=${t("Search the turns")} />
      <button class="button">${t("Search")}</button>
    </form>
    <${Loaded} of=${found}>${({ hits, warnings }) => html`
      ${warnings.map((text) => html`<${Notice}>${text}</${Notice}>`)}
      ${!hits.length && html`<${Empty}>${t("Nothing matches the search.")}</${Empty}>`}
      <ul class="cards">${ownFirst(hits, place.session).map((hit) => html`
        <${Hit} key=${hit.artifact_id} ...${hit} place=${place} />`)}</ul>
    `}</${Loaded}>
  `;
}

const ownFirst = (hits, session) => [true, false].flatMap((own) => hits.filter((hit) => (hit.session === session) === own));

const Hit = ({ artifact_id: id, speaker, day, text, refusal, place }) => html`
  <li class="card">
    <div class="row small"><${Where} id=${id} place=${place} />
      <${Tag}>${t(speaker)}</${Tag}><time class="muted">${day}</time></div>
    <p>${text}</p>
    ${refusal && html`<p class="warning small">${t("Not shown to any model:")} ${refusal}</p>`}
  </li>
`;

/** Where a piece of memory is from: a link to its turn, or its name. */
export function Where({ id, place: { app, user, session: own } }) {
  const [, session, turn] = id.match(/^turn:(.+):(\d+)$/) ?? [];
  if (!session) return html`<code>${id}</code>`;
  return html`<a href=${href(["session", app, user, session, "turn", turn])}>
    ${session === own ? "" : `${session} · `}${t("turn {turn}", { turn })}</a>`;
}
