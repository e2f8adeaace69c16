/** The rules in force and the changes that wait: whose words they are, and what a person may do. */

import { html, useState } from "../lib/preact.js";
import { call, post } from "../lib/api.js";
import { useAction, useData } from "../lib/data.js";
import { when } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { Act, Empty, Failure, Loaded, Notice, Raw, Tag } from "../lib/ui.js";
import { Where } from "./find.js";

export const Rules = ({ base, rules, reload, turn, last, turns, place }) => html`
  ${turn !== last && html`<${Earlier} ...${{ base, rules, turn, turns }} />`}
  <${Questions} ...${{ base, rules, reload }} />
  <div class="row"><span class="muted small">${t("In force now")}</span>
    <span class="grow"></span><${Raw} path=${`${base}/rules`} /></div>
  <${Loaded} of=${rules}>${({ constraints, not_kept: notKept = [], unread_turns: unread }) => html`
    ${unread > 0 && t("{unread} messages not yet read for rules", { unread })} ${!constraints.length && html`<${Empty}>${t("No rules are in force.")}</${Empty}>`}
    <ul class="cards">${constraints.map((rule) => html`
      <${Rule} key=${rule.id} ...${rule} ...${{ base, reload, turns, place }} />`)}</ul>
    <${NewRule} base=${base} reload=${reload} />
    ${notKept.length > 0 && html`<p class="muted small">${t("Not kept as rules")}</p>`}
    <ul class="cards">${notKept.map(({ text, turn }) => html`
      <${NotKept} key=${text} ...${{ text, turn, base, reload }} />`)}</ul>
  `}</${Loaded}>
`;

/** The rules that the turn which is looked at was answered with; what has been lifted since is marked. */
function Earlier({ base, rules, turn, turns }) {
  const version = turns.items.find((each) => each.turn === turn)?.ccs_version;
  const then = useData(version ? `${base}/ccs/versions/${version}` : null);
  const now = (rules.data?.constraints ?? []).map(({ text }) => text);
  return html`<p class="muted small">${t("In force at turn {turn}", { turn })}</p>
    <${Loaded} of=${then}>${({ ccs: { constraints } }) => html`
      ${!constraints.length && html`<${Empty}>${t("No rules were in force.")}</${Empty}>`}
      <ul class="cards">${constraints.map((text) => html`<li class="card row"><span class="grow">${text}</span>
        ${!now.includes(text) && html`<${Tag} kind="warn">${t("no longer in force")}</${Tag}>`}</li>`)}</ul>
    `}</${Loaded}>`;
}

/** What a yes to a change says. */
const YES = { add: "Keep it", permit: "Allow it", release: "Lift it", amend: "Change it", goal: "Take it" };

/** The changes that wait, each in full; a button settles one, a yes in the chat does not. */
export const Questions = ({ base, rules, reload }) =>
  (rules.data?.questions ?? []).map(({ id, kind, rule_id: rule, quote, before, after }) => html`
    <${Notice} key=${id} kind="ask">
      <p>${t("Waiting for your consent")} <code>${id}</code></p>
      <dl class="change">
        <dt>${t("Before")} <code>${rule}</code></dt><dd>${before || "–"}</dd>
        <dt>${t("After")}</dt>${(after.length ? after : ["–"]).map((text) => html`<dd>${text}</dd>`)}
      </dl>
      <blockquote>${quote}</blockquote>
      <div class="row">${["yes", "no"].map((answer) => html`
        <${Act} kind=${answer === "yes" ? "primary" : ""} action=${() =>
          post(`${base}/questions/${encodeURIComponent(id)}`, { answer }).then(reload)}>
          ${t(answer === "yes" ? YES[kind] : "Leave it as it is")}</${Act}>`)}
      </div>
    </${Notice}>`);

function Rule({ id, text, authority, origin_turn: turn, quote, scope, tentative, checks = [], base, reload, turns, place }) {
  const said = turns.items.find((each) => each.turn === turn);
  const uses = turns.items.flatMap((each) => each.guarded.filter(({ rule_id: rule }) => rule === id).map((use) => ({ ...use, turn: each.turn })));
  const isSystem = authority === "system";
  const lift = () => call("DELETE", `${base}/rules/${encodeURIComponent(id)}`).then(reload);
  const keep = () => post(`${base}/rules`, { text, scope: "user" }).then(reload);
  return html`
    <li class="card">
      <p class="lead">${text}</p>
      ${quote && quote !== text && html`<blockquote>${quote}</blockquote>`}
      <div class="row small">
        <code>${id}</code>
        <${Tag}>${t(authority)}</${Tag}>
        <${Tag}>${scope === "user" ? t("every session") : t("this session")}</${Tag}>
        ${turn > 0 && html`<${Where} id=${`turn:${place.session}:${turn}`} place=${place} />`}
        <time class="muted">${when(said?.at)}</time>
        ${tentative && html`<${Tag} kind="warn">${t("provisional")}</${Tag}>`}
        <span class="grow"></span>
        ${scope !== "user" && !isSystem && html`<${Act} kind="quiet" action=${keep}>${t("Keep always")}</${Act}>`}
        ${!isSystem && html`<${Act} kind="quiet danger" action=${lift}>${tentative ? t("Take back") : t("Lift")}</${Act}>`}
      </div>
      ${uses.map((use) => html`<p class="row small"><${Tag} kind="warn">${t(use.verdict)}</${Tag}>${use.tool}
        <${Where} id=${`turn:${place.session}:${use.turn}`} place=${place} /></p>`)}
      ${checks.map((check) => html`
        <${Check} key=${check.tool + check.text} ...${check} isFixed=${isSystem}
          path=${`${base}/rules/${encodeURIComponent(id)}/checks/${encodeURIComponent(check.tool)}`}
          reload=${reload} />`)}
    </li>
  `;
}

/** What may be a rule and is none, since the compressor that reads is not believed. */
const NotKept = ({ text, turn, base, reload }) => html`
  <li class="card row small"><span>${text}</span>
    <span class="muted">${t("turn {turn}", { turn })}</span><span class="grow"></span>
    <${Act} kind="quiet" action=${() => post(`${base}/rules`, { text }).then(reload)}>
      ${t("Keep it")}</${Act}></li>`;

/** What a rule does at a tool; a person may drop it, change it, or take the rule's own again. */
function Check({ tool, text, does, isFixed, path, reload }) {
  const set = (value) => call("PUT", path, { body: { does: value } }).then(reload);
  const change = async () => {
    const wanted = prompt(t("Enter ask, stop or off, or a condition that stops the call, such as: amount > 30 EUR"), does);
    if (wanted !== null) await set(wanted.trim());
  };
  return html`<div class="row small"><span class="muted">${text}</span><span class="grow"></span>
    ${!isFixed && html`<${Act} kind="quiet" action=${change}>${t("Change")}</${Act}>`}
    ${!isFixed && does && html`<${Act} kind="quiet" action=${() => set("")}>${t("Use the rule's own check")}</${Act}>`}
  </div>`;
}

function NewRule({ base, reload }) {
  const [text, setText] = useState("");
  const [isForAll, setForAll] = useState(false);
  const make = useAction(async (event) => {
    event.preventDefault();
    if (!text.trim()) return;
    await post(`${base}/rules`, { text: text.trim(), scope: isForAll ? "user" : "session" });
    setText("");
    reload();
  });
  return html`
    <form class="new" onSubmit=${make.run}>
      <input name="rule" value=${text} aria-label=${t("New rule")}
             placeholder=${t("A new rule, in your words")}
             onInput=${(event) => setText(event.target.value)} />
      <label class="nowrap"><input type="checkbox" checked=${isForAll}
        onChange=${(event) => setForAll(event.target.checked)} /> ${t("every session")}</label>
      <button class="button" disabled=${make.isBusy}>${t("Make a rule")}</button>
    </form>
    <${Failure} error=${make.error} onClose=${make.dismiss} />
  `;
}
