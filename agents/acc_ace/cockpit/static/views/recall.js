/** What recall found for a turn, the gate's verdicts, and what became of each in the state. */

import { html, useState } from "../vendor/preact.js";
import { call } from "../lib/api.js";
import { useAction, useData } from "../lib/data.js";
import { decimal } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { Button, Empty, Failure, Loading, Raw, Tag } from "../lib/ui.js";

export function Recall({ base, turn }) {
  const path = turn ? `${base}/turns/${turn}/recall` : null;
  const { data, error, isLoading, reload } = useData(path);
  if (!turn) return html`<${Empty}>${t("No turn yet.")}</${Empty}>`;
  const most = Math.max(...(data?.items ?? []).map(({ score }) => score), 0) || 1;
  return html`
    <div class="row"><span class="muted small">${t("Candidates, best first")}</span>
      <span class="grow"></span><${Raw} path=${path} /></div>
    <${Failure} error=${error} reload=${reload} />
    ${isLoading && html`<${Loading} />`}
    ${data && !data.items.length && html`<${Empty}>${t("Nothing was recalled.")}</${Empty}>`}
    <ul class="cards">
      ${(data?.items ?? []).map((item) => html`
        <${Candidate} key=${item.artifact_id} ...${item} most=${most} />
      `)}
    </ul>
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
        <span class="small">${t(reason)}</span>
        ${isUsed && html`<${Tag} kind="accent">${t("in the state")}</${Tag}>`}
        <span class="grow"></span>
        <${Button} kind="quiet" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>
          ${t("Text")}
        </${Button}>
      </div>
      <div class="row small"><code>${id}</code><${Tag}>${t(it.kind)}</${Tag}>
        <span class="muted">${it.source}</span></div>
      ${(detail || it.why.length > 0) && html`
        <p class="muted small">${[detail, it.why.join(", ")].filter(Boolean).join(" · ")}</p>`}
      ${isOpen && html`<${Artifact} id=${id} />`}
    </li>
  `;
}

function Artifact({ id }) {
  const path = `v1/memory/artifacts/${encodeURIComponent(id)}`;
  const { data, error, isLoading, reload } = useData(path);
  const [text, setText] = useState(null);
  const change = useAction(async (method, body) => {
    if (method === "DELETE" && !confirm(t("Forget this piece of memory? This cannot be undone."))) return;
    await call(method, path, { body });
    setText(null);
    reload();
  });
  if (isLoading) return html`<${Loading} />`;
  if (!data) return html`<${Failure} error=${error} />`;
  return html`
    ${text === null
      ? html`<pre>${data.content}</pre>`
      : html`<textarea rows="5" aria-label=${t("Text")} value=${text}
               onInput=${(event) => setText(event.target.value)} />`}
    <div class="row">
      ${text === null
        ? html`<${Button} onClick=${() => setText(data.content)}>${t("Correct")}</${Button}>`
        : html`<${Button} kind="primary" busy=${change.isBusy}
                 onClick=${() => change.run("PUT", { content: text })}>${t("Save")}</${Button}>
               <${Button} onClick=${() => setText(null)}>${t("Cancel")}</${Button}>`}
      <${Button} kind="danger" busy=${change.isBusy} onClick=${() => change.run("DELETE")}>
        ${t("Forget")}
      </${Button}>
    </div>
    <${Failure} error=${change.error} onClose=${change.dismiss} />
  `;
}
