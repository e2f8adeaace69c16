/** What recall found for a turn, the gate's verdicts, and what became of each in the state. */

import { html, useState } from "../lib/preact.js";
import { call } from "../lib/api.js";
import { useData } from "../lib/data.js";
import { decimal, when } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { Act, Button, Empty, Loaded, Notice, Raw, Tag, TextEditor } from "../lib/ui.js";
import { Where } from "./find.js";

export function Recall({ base, turn, place }) {
  const path = turn ? `${base}/turns/${turn}/recall` : null, recall = useData(path);
  if (!turn) return html`<${Empty}>${t("No turn yet.")}</${Empty}>`;
  return html`
    <div class="row"><span class="muted small">${t("Candidates, best first")}</span>
      <span class="grow"></span><${Raw} path=${path} /></div>
    <${Loaded} of=${recall}>${({ items }) => html`
      ${!items.length && html`<${Empty}>${t("Nothing was recalled.")}</${Empty}>`}
      <ul class="cards">
        ${items.map((item) => html`<${Candidate} key=${item.artifact_id} ...${item} place=${place}
          most=${Math.max(...items.map(({ score }) => score)) || 1} />`)}
      </ul>
    `}</${Loaded}>
  `;
}

function Candidate({ artifact_id: id, score, most, ok, reason, detail, in_state: isUsed, place, ...it }) {
  const [isOpen, setOpen] = useState(false);
  return html`
    <li class="card">
      <div class="row">
        <meter value=${score} max=${most} title=${t("Score")}></meter>
        <span class="num small">${decimal(score, 3)}</span>
        <${Tag} kind=${ok === null ? "" : ok ? "good" : "bad"}>
          ${ok === null ? t("not judged") : ok ? t("qualified") : t("rejected")}
        </${Tag}>
        <span class="small">${t(reason).replaceAll("_", " ")}</span>
        ${isUsed && html`<${Tag} kind="accent">${t("in the state")}</${Tag}>`}
        <span class="grow"></span>
        <${Button} kind="quiet" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>
          ${t("Text")}
        </${Button}>
      </div>
      <div class="row small"><code>${id}</code><${Tag}>${t(it.kind)}</${Tag}>
        <span class="muted">${it.source !== it.kind && it.source}</span></div>
      ${(detail || it.why.length > 0) && html`
        <p class="muted small">${[detail, it.why.join(", ")].filter(Boolean).join(" · ")}</p>`}
      ${isOpen && html`<${Artifact} id=${id} place=${place} />`}
    </li>
  `;
}

function Artifact({ id, place }) {
  const path = `v1/memory/artifacts/${encodeURIComponent(id)}`, artifact = useData(path);
  const [isEdited, setEdited] = useState(false);
  const [preview, setPreview] = useState(null);
  const shown = () => (setEdited(false), setPreview(null), artifact.reload());
  const save = (content) => call("PUT", path, { body: { content } }).then(shown);
  const look = () => call("DELETE", path, { query: { dry_run: true } }).then(setPreview);
  return html`<${Loaded} of=${artifact}>${({ content, authority, created_at: at }) => html`
    <div class="row small"><span class="muted">${t("Said by")}</span><${Tag}>${t(authority)}</${Tag}>
      <time class="muted">${when(at)}</time><${Where} id=${id} place=${place} /></div>
    ${isEdited
      ? html`<${TextEditor} text=${content} label=${t("Text")} save=${save} onClose=${() => setEdited(false)} />`
      : html`<pre tabindex="0">${content}</pre>`}
    ${preview
      ? html`<${Preview} ...${preview} place=${place} forget=${() => call("DELETE", path).then(shown)}
               onClose=${() => setPreview(null)} />`
      : !isEdited && html`<div class="row">
          <${Button} onClick=${() => setEdited(true)}>${t("Correct")}</${Button}>
          <${Act} kind="danger" action=${look}>${t("Forget …")}</${Act}>
        </div>`}
  `}</${Loaded}>`;
}

/** Where it is used, and so what goes with it. */
const Preview = ({ removed, shortened, sessions, also, place, forget, onClose }) => html`
  <${Notice} kind="ask">
    ${[["Also forgotten", removed], ["Shortened: only your own words stay", shortened],
      ["Kept: you said it there in your own words", also]].map(([title, ids]) => ids.length > 0 && html`
      <div><b>${t(title)}</b><ul class="items">${ids.map((id) => html`<li><${Where} id=${id} place=${place} /></li>`)}</ul></div>`)}
    ${sessions.length > 0 && html`<div><b>${t("Sessions whose state will lose it")}</b> ${sessions.join(", ")}</div>`}
    <p>${t("This cannot be undone.")}</p>
    <div class="row"><${Act} kind="primary" action=${forget}>${t("Forget")}</${Act}>
      <${Button} onClick=${onClose}>${t("Cancel")}</${Button}></div>
  </${Notice}>
`;
