/** What recall found for a turn, the gate's verdicts, and what became of each in the state. */

import { html, useState } from "../lib/preact.js";
import { call } from "../lib/api.js";
import { useData } from "../lib/data.js";
import { decimal } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { Act, Button, Empty, Loaded, Raw, Tag, TextEditor } from "../lib/ui.js";

export function Recall({ base, turn }) {
  const path = turn ? `${base}/turns/${turn}/recall` : null, recall = useData(path);
  if (!turn) return html`<${Empty}>${t("No turn yet.")}</${Empty}>`;
  return html`
    <div class="row"><span class="muted small">${t("Candidates, best first")}</span>
      <span class="grow"></span><${Raw} path=${path} /></div>
    <${Loaded} of=${recall}>${({ items }) => html`
      ${!items.length && html`<${Empty}>${t("Nothing was recalled.")}</${Empty}>`}
      <ul class="cards">
        ${items.map((item) => html`<${Candidate} key=${item.artifact_id} ...${item}
          most=${Math.max(...items.map(({ score }) => score)) || 1} />`)}
      </ul>
    `}</${Loaded}>
  `;
}

function Candidate({ artifact_id: id, score, most, ok, reason, detail, in_state: isUsed, ...it }) {
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
      ${isOpen && html`<${Artifact} id=${id} />`}
    </li>
  `;
}

function Artifact({ id }) {
  const path = `v1/memory/artifacts/${encodeURIComponent(id)}`, artifact = useData(path), query = { dry_run: true };
  const [isEdited, setEdited] = useState(false);
  const shown = () => (setEdited(false), artifact.reload());
  const save = (content) => call("PUT", path, { body: { content } }).then(shown);
  const forget = ({ removed, also }) => confirm([t("Forget this and what rests on it? This cannot be undone."),
    ...removed, also.length ? `\n${t("These say it too, in your own words, and stay:")}` : "", ...also].join("\n"))
    && call("DELETE", path).then(shown);
  return html`<${Loaded} of=${artifact}>${({ content }) => isEdited
    ? html`<${TextEditor} text=${content} label=${t("Text")} save=${save} onClose=${() => setEdited(false)} />`
    : html`<pre>${content}</pre>
        <div class="row">
          <${Button} onClick=${() => setEdited(true)}>${t("Correct")}</${Button}>
          <${Act} kind="danger" action=${() => call("DELETE", path, { query }).then(forget)}>${t("Forget")}</${Act}>
        </div>`}</${Loaded}>`;
}
