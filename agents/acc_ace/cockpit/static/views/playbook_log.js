/** What led to the playbook: every proposed delta, those that wait, versions, refine. */

import { html, useState } from "../lib/preact.js";
import { post } from "../lib/api.js";
import { usePages } from "../lib/data.js";
import { TextDiff } from "../lib/diff.js";
import { when } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { Act, Choice, Empty, Loaded, More, Notice, Raw, Tag } from "../lib/ui.js";
import { fits, OriginLink, PATH, statusKind } from "./playbook.js";

const STATUSES = ["", "applied", "held", "rejected"];

export function Log({ ask, words }) {
  const log = usePages(`${PATH}/deltas`, { ...ask, limit: 100 });
  const [status, setStatus] = useState("");
  const found = log.items.filter(
    ({ kind, bullet_id: id, after, proposed, rationale, ...item }) =>
      (!status || item.status === status) && fits(words, kind, id, after?.content, proposed, rationale),
  );
  return html`
    <div class="row">
      <${Choice} label=${t("Status")} current=${status} onPick=${setStatus}
                 options=${STATUSES.map((each) => [each, t(each || "All")])} />
      <span class="grow"></span><${Raw} path=${`${PATH}/deltas`} query=${ask} />
    </div>
    <${Loaded} of=${log}>${() => found.length ? html`<ol class="timeline">
      ${found.map((item) => html`<li key=${item.seq} class=${item.status}><${Delta} ...${item} /></li>`)}
    </ol>` : html`<${Empty}>${t("Nothing here.")}</${Empty}>`}</${Loaded}>
    <${More} more=${log.more} />
  `;
}

/** A proposed change of the playbook, and what became of it. */
function Delta({ kind, bullet_id: id, status, reason, before, after, rationale, ...rest }) {
  const content = after?.content ?? rest.proposed ?? before?.content;
  return html`
    <div class="row small">
      <b>${kind}</b>${id && html`<code>${id}</code>`}
      <${Tag} kind=${statusKind(status)}>${t(status)}</${Tag}>
      ${reason !== "ok" && html`<code>${reason}</code>`}
      ${rest.priority !== "normal" && html`<${Tag}>${t(rest.priority)}</${Tag}>`}
      <${OriginLink} origin=${{ session: rest.session, turn: rest.turn, user: rest.user }} />
      <span class="grow"></span>
      <span class="muted">v${rest.version}</span><time class="muted">${when(rest.created_at)}</time>
    </div>
    ${content && html`<p>${before ? html`<${TextDiff} before=${before.content} after=${content} />` : content}</p>`}
    ${rationale && html`<p class="muted small">${rationale}</p>`}
  `;
}

export function Held({ held, ask, reload }) {
  const decide = (seq, word) =>
    post(`${PATH}/held/${seq}/${word}`, undefined, { query: ask }).then(reload);
  return html`<${Loaded} of=${held}>${({ items }) => html`
    ${!items.length && html`<${Empty}>${t("Nothing is waiting for review.")}</${Empty}>`}
    <ul class="cards">
      ${items.map((item) => html`
        <li key=${item.seq} class="card">
          <${Delta} ...${item} />
          <div class="row">
            <${Act} kind="primary" action=${() => decide(item.seq, "apply")}>${t("Accept")}</${Act}>
            <${Act} action=${() => decide(item.seq, "dismiss")}>${t("Reject")}</${Act}>
          </div>
        </li>
      `)}
    </ul>
  `}</${Loaded}>`;
}

export function Versions({ book, ask, reload }) {
  const versions = usePages(`${PATH}/versions`, { ...ask, limit: 50 });
  const restore = (version) =>
    post(`${PATH}/rollback`, { version }, { query: ask }).then(() => (reload(), versions.reload()));
  return html`<${Loaded} of=${versions}>${() => html`
    ${!versions.items.length && html`<${Empty}>${t("Nothing here.")}</${Empty}>`}
    <ol class="timeline">
      ${versions.items.map(({ version, at, bullets, counts }) => html`
        <li key=${version}>
          <div class="row small">
            <b>v${version}</b><span>${t("{bullets} bullets", { bullets: bullets ?? "?" })}</span>
            <span class="muted">${Object.entries(counts).map((each) => each.join(" ")).join(" · ")}</span>
            <span class="grow"></span><time class="muted">${when(at)}</time>
            ${version !== book.version &&
            html`<${Act} kind="quiet" action=${() => restore(version)}
              sure=${t("Restore version {version} as a new version?", { version })}>${t("Restore")}</${Act}>`}
          </div>
        </li>
      `)}
    </ol>
    <${More} more=${versions.more} />
  `}</${Loaded}>`;
}

/** What refine would do is shown first; it is done when a person says so. */
export function Refine({ ask, reload }) {
  const [done, setDone] = useState(null);
  const refine = async (isPreview) => {
    setDone(await post(`${PATH}/refine`, undefined, { query: { ...ask, dry_run: isPreview } }));
    if (!isPreview) reload();
  };
  return html`
    <p class="muted">${t("Refine merges duplicates, archives stale and harmful lessons, and keeps the playbook within its budgets.")}</p>
    <div class="row">
      <${Act} kind=${done?.dry_run ? "" : "primary"} action=${() => refine(true)}>${t("Preview")}</${Act}>
      ${done?.dry_run && done.steps.length > 0 &&
      html`<${Act} kind="primary" action=${() => refine(false)}>${t("Refine now")}</${Act}>`}
    </div>
    ${done && html`
      <${Notice}>${done.dry_run
        ? t("Changes to be made: {count}", { count: done.steps.length })
        : t("Changes made: {count}", { count: done.steps.length })}</${Notice}>
      <ul class="cards">
        ${done.steps.map((step) => html`
          <li class="card">
            <div class="row small"><b>${step.kind}</b><code>${step.bullet_id}</code>
              <${Tag}>${step.reason}</${Tag}></div>
            <p>${step.content}</p>
            ${step.source_contents.map((text) => html`<p><del>${text}</del></p>`)}
          </li>
        `)}
      </ul>
      ${done.unmet.map((text) => html`<p class="warning small">${text}</p>`)}
    `}
  `;
}
