/** What led to the playbook: every proposed delta, those that wait, versions, refine. */

import { html, useState } from "../vendor/preact.js";
import { post } from "../lib/api.js";
import { useAction, useData, usePages } from "../lib/data.js";
import { TextDiff } from "../lib/diff.js";
import { when } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { Button, Empty, Failure, Loading, More, Notice, Raw, Tag } from "../lib/ui.js";
import { fits, OriginLink, PATH, statusKind } from "./playbook.js";

const STATUSES = ["", "applied", "held", "rejected"];

export function Log({ ask, words }) {
  const log = usePages(`${PATH}/deltas`, { ...ask, limit: 100 });
  const [status, setStatus] = useState("");
  const found = log.items.filter(
    (item) =>
      (!status || item.status === status) &&
      fits(words, item.kind, item.bullet_id, item.after?.content, item.rationale),
  );
  return html`
    <div class="row">
      <div class="switch" role="group" aria-label=${t("Status")}>
        ${STATUSES.map((each) => html`
          <button type="button" aria-pressed=${status === each} onClick=${() => setStatus(each)}>
            ${each ? t(each) : t("All")}
          </button>
        `)}
      </div>
      <span class="grow"></span><${Raw} path=${`${PATH}/deltas`} query=${ask} />
    </div>
    <${Failure} error=${log.error} reload=${log.reload} />
    ${log.isLoading && html`<${Loading} />`}
    ${!log.isLoading && !found.length && html`<${Empty}>${t("Nothing here.")}</${Empty}>`}
    <ol class="timeline">
      ${found.map((item) => html`<li key=${item.seq} class=${item.status}><${Delta} ...${item} /></li>`)}
    </ol>
    <${More} more=${log.more} />
  `;
}

function Delta({ kind, bullet_id: id, status, reason, before, after, rationale, ...rest }) {
  const isReworded = before && after && before.content !== after.content;
  const content = (after ?? before)?.content ?? rest.operation?.content;
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
    ${isReworded
      ? html`<p><${TextDiff} before=${before.content} after=${after.content} /></p>`
      : content && html`<p>${content}</p>`}
    ${rationale && html`<p class="muted small">${rationale}</p>`}
  `;
}

export function Held({ held, ask, reload }) {
  const decide = useAction(async (seq, word) => {
    await post(`${PATH}/held/${seq}/${word}`, undefined, { query: ask });
    reload();
  });
  const items = held.data?.items ?? [];
  return html`
    <${Failure} error=${held.error} reload=${held.reload} />
    <${Failure} error=${decide.error} onClose=${decide.dismiss} />
    ${!items.length && !held.error && html`<${Empty}>${t("Nothing waits for review.")}</${Empty}>`}
    <ul class="cards">
      ${items.map((item) => html`
        <li key=${item.seq} class="card">
          <${Delta} ...${item} />
          <div class="row">
            <${Button} kind="primary" busy=${decide.isBusy} onClick=${() => decide.run(item.seq, "apply")}>
              ${t("Accept")}
            </${Button}>
            <${Button} busy=${decide.isBusy} onClick=${() => decide.run(item.seq, "dismiss")}>
              ${t("Reject")}
            </${Button}>
          </div>
        </li>
      `)}
    </ul>
  `;
}

export function Versions({ book, ask, reload }) {
  const versions = usePages(`${PATH}/versions`, { ...ask, limit: 50 });
  const [open, setOpen] = useState(0);
  const restore = useAction(async (version) => {
    if (!confirm(t("Go back to version {version}, as a new version?", { version }))) return;
    await post(`${PATH}/rollback`, { version }, { query: ask });
    reload();
    versions.reload();
  });
  return html`
    <${Failure} error=${versions.error} reload=${versions.reload} />
    <${Failure} error=${restore.error} onClose=${restore.dismiss} />
    ${!versions.isLoading && !versions.items.length && html`<${Empty}>${t("Nothing here.")}</${Empty}>`}
    <ol class="timeline">
      ${versions.items.map(({ version, at, bullets, counts }) => html`
        <li key=${version}>
          <div class="row small">
            <b>v${version}</b><span>${t("{bullets} bullets", { bullets: bullets ?? "?" })}</span>
            <span class="muted">
              ${Object.entries(counts).map(([kind, count]) => `${kind} ${count}`).join(" · ")}
            </span>
            <span class="grow"></span><time class="muted">${when(at)}</time>
            <${Button} kind="quiet" aria-expanded=${open === version}
                       onClick=${() => setOpen(open === version ? 0 : version)}>
              ${t("Changes")}
            </${Button}>
            ${version !== book.version &&
            html`<${Button} kind="quiet" busy=${restore.isBusy} onClick=${() => restore.run(version)}>
              ${t("Restore")}
            </${Button}>`}
          </div>
          ${open === version && html`<${VersionDiff} version=${version} ask=${ask} />`}
        </li>
      `)}
    </ol>
    <${More} more=${versions.more} />
  `;
}

function VersionDiff({ version, ask }) {
  const diff = useData(`${PATH}/diff`, { ...ask, first: version - 1, second: version });
  if (!diff.data) return html`<${Failure} error=${diff.error} reload=${diff.reload} />`;
  return html`
    <ul class="items">
      ${diff.data.changes.map(({ before, after }) => html`
        <li>
          <code>${(after ?? before).id}</code>${" "}
          <${TextDiff} before=${before?.content} after=${after?.content} />
          ${before && after && before.content === after.content && html`
            <span class="muted small">
              ${` +${before.helpful}/−${before.harmful} → +${after.helpful}/−${after.harmful}`}
            </span>
          `}
        </li>
      `)}
    </ul>
  `;
}

/** What refine would do is shown first; it is done when a person says so. */
export function Refine({ ask, reload }) {
  const [done, setDone] = useState(null);
  const refine = useAction(async (isPreview) => {
    setDone(await post(`${PATH}/refine`, undefined, { query: { ...ask, dry_run: isPreview } }));
    if (!isPreview) reload();
  });
  return html`
    <p class="muted">${t("Refine merges duplicates, archives stale and harmful lessons and keeps the budgets.")}</p>
    <div class="row">
      <${Button} kind=${done?.dry_run ? "" : "primary"} busy=${refine.isBusy} onClick=${() => refine.run(true)}>
        ${t("Preview")}
      </${Button}>
      ${done?.dry_run && done.steps.length > 0 &&
      html`<${Button} kind="primary" busy=${refine.isBusy} onClick=${() => refine.run(false)}>
        ${t("Refine now")}
      </${Button}>`}
    </div>
    <${Failure} error=${refine.error} onClose=${refine.dismiss} />
    ${done && html`
      <${Notice}>${done.dry_run
        ? t("{count} changes would be made.", { count: done.steps.length })
        : t("{count} changes were made.", { count: done.steps.length })}</${Notice}>
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
