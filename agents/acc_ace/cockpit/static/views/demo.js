/** The demo: who can stop an act, side by side; then the session, and beside it what it promises. */

import { html, useEffect } from "../lib/preact.js";
import { useData } from "../lib/data.js";
import { t } from "../lib/i18n.js";
import { href } from "../lib/router.js";
import { Failure, isMissingRoute, Loaded, Notice, Raw } from "../lib/ui.js";
import { Acts } from "./acts.js";
import Session from "./session.js";

const EVERY_MS = 1_000;
const SIGNS = { ok: "✓", failed: "✗", pending: "·" };

export default function Demo({ route }) {
  const checks = useData("demo/checks");
  const { data, error, reload } = checks;
  const isOver = data && data.played === data.turns;
  useEffect(() => {
    if (error || isOver) return undefined;
    const timer = setInterval(reload, EVERY_MS);
    return () => clearInterval(timer);
  }, [Boolean(error), isOver]);
  if (isMissingRoute(error)) {
    return html`<div class="page"><h1>${t("Demo")}</h1><${Notice}>
      ${t("No demo is running here. Start one:")} <code>acc-ace demo</code>
    </${Notice}></div>`;
  }
  if (!data) return html`<div class="page"><${Loaded} of=${checks} /></div>`;
  const { app, user, session } = data;
  const counts = { ok: 0, failed: 0, pending: 0 };
  for (const { status } of data.checks) counts[status] += 1;
  if (route.parts.length < 2) {
    return html`<${Acts} user=${user} session=${session}>
      <p class="row small">
        <a href=${href(["demo", app, user, session])}>${t("Also playing: a {turns}-turn conversation", data)}</a>
        <span class="muted">${t("turn {turn} of {last}", { turn: data.played, last: data.turns })} ·
          ${" "}${t("{ok} kept, {failed} broken, {pending} pending", counts)}</span>
      </p>
      <${Failure} error=${error} reload=${reload} />
      ${data.error && html`<${Notice} kind="bad">${data.error}</${Notice}>`}
    </${Acts}>`;
  }
  return html`
    <div class="demo">
      <aside aria-label=${t("Promises")}>
        <a class="small" href=${href(["demo"])}>← ${t("Who can stop the call?")}</a>
        <div class="head"><h1>${t("Promises")}</h1><span class="grow"></span><${Raw} path="demo/checks" /></div>
        <progress max=${data.turns} value=${data.played}></progress>
        <p class="muted small">
          ${t("turn {turn} of {last}", { turn: data.played, last: data.turns })} ·
          ${" "}${t("{ok} kept, {failed} broken, {pending} pending", counts)}
        </p>
        <${Failure} error=${error} reload=${reload} />
        ${data.error && html`<${Notice} kind="bad">${data.error}</${Notice}>`}
        <ol class="promises">
          ${data.checks.map(({ id, title, detail, status }) => html`
            <li key=${id} class=${status}>
              <span class="sign" role="img" aria-label=${t(status)}>${SIGNS[status]}</span>
              <div>${title}<div class="muted small">${detail}</div></div>
            </li>
          `)}
        </ol>
      </aside>
      ${data.played > 0 && html`<${Session} route=${route} />`}
    </div>
  `;
}
