/** The rules in force: whose words they are, where they hold, and what a person may do with them. */

import { html, useRef, useState } from "../vendor/preact.js";
import { call, post } from "../lib/api.js";
import { useAction } from "../lib/data.js";
import { t } from "../lib/i18n.js";
import { Button, Empty, Failure, Loading, Raw, Tag } from "../lib/ui.js";

export function Rules({ base, rules, reload }) {
  const change = useAction(async (action) => {
    await action();
    reload();
  });
  const lift = (id) => change.run(() => call("DELETE", `${base}/rules/${encodeURIComponent(id)}`));
  const keep = (text) => change.run(() => post(`${base}/rules`, { text, scope: "user" }));
  const found = rules.data?.constraints ?? [];
  return html`
    <div class="row"><span class="grow"></span><${Raw} path=${`${base}/rules`} /></div>
    <${Failure} error=${rules.error} reload=${rules.reload} />
    <${Failure} error=${change.error} onClose=${change.dismiss} />
    ${rules.isLoading && html`<${Loading} />`}
    ${rules.data && !found.length && html`<${Empty}>${t("No rules are in force.")}</${Empty}>`}
    <ul class="cards">
      ${found.map((rule) => html`
        <${Rule} key=${rule.id} ...${rule} busy=${change.isBusy}
                 onLift=${() => lift(rule.id)} onKeep=${() => keep(rule.text)} />
      `)}
    </ul>
    <${NewRule} base=${base} change=${change} />
  `;
}

function Rule({ id, text, authority, origin_turn: turn, quote, scope, tentative, busy, ...on }) {
  const isSystem = authority === "system";
  return html`
    <li class="card">
      <p class="lead">${text}</p>
      ${quote && quote !== text && html`<blockquote>${quote}</blockquote>`}
      <div class="row small">
        <code>${id}</code>
        <${Tag}>${t(authority)}</${Tag}>
        <${Tag}>${scope === "user" ? t("every session") : t("this session")}</${Tag}>
        ${turn > 0 && html`<span class="muted">${t("turn {turn}", { turn })}</span>`}
        ${tentative && html`<${Tag} kind="warn"
          title=${t("It binds, and is confirmed when a turn passes without an objection.")}>
          ${t("tentative")}
        </${Tag}>`}
        <span class="grow"></span>
        ${scope !== "user" && !isSystem &&
        html`<${Button} kind="quiet" busy=${busy} onClick=${on.onKeep}>${t("Keep always")}</${Button}>`}
        ${!isSystem && html`<${Button} kind="quiet danger" busy=${busy} onClick=${on.onLift}>
          ${tentative ? t("Not a rule") : t("Lift")}
        </${Button}>`}
      </div>
    </li>
  `;
}

function NewRule({ base, change }) {
  const [isForAll, setForAll] = useState(false);
  const box = useRef();
  const make = async (event) => {
    event.preventDefault();
    const text = box.current.value.trim();
    if (!text) return;
    const scope = isForAll ? "user" : "session";
    await change.run(async () => {
      await post(`${base}/rules`, { text, scope });
      box.current.value = "";
    });
  };
  return html`
    <form class="new" onSubmit=${make}>
      <input ref=${box} aria-label=${t("New rule")} placeholder=${t("A new rule, in your words")} />
      <label class="nowrap"><input type="checkbox" checked=${isForAll}
        onChange=${(event) => setForAll(event.target.checked)} /> ${t("every session")}</label>
      <button class="button" disabled=${change.isBusy}>${t("Make a rule")}</button>
    </form>
  `;
}
