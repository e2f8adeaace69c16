/** Side by side: whether the forbidden call ran in plain ADK, with its compaction, and with us. */

import { html, useEffect } from "../lib/preact.js";
import { useData } from "../lib/data.js";
import { t } from "../lib/i18n.js";
import { href } from "../lib/router.js";
import { Loaded, Notice, Raw, Tag } from "../lib/ui.js";

const PATH = "demo/acts";
const EVERY_MS = 1_000;
const ARMS = {
  plain: ["Plain ADK", "Each request contains the whole transcript."],
  compaction: ["ADK with event compaction", "A summary replaces earlier turns."],
  bounded: ["ACC×ACE", "The same agent with BoundedMemoryPlugin: bounded memory, and a guard before each call."],
};
const OUTCOMES = {
  pending: ["To come", "pending"],
  ran: ["Ran", "bad"],
  asked: ["Not run: asked first", "good"],
  stopped: ["Not run: stopped", "good"],
  idle: ["Not called", ""],
  failed: ["Failed", "warn"],
};
const UNGUARDED = {
  missing: "The extension 'guard' is not installed: nothing stops a call in the third column.",
  off: "The guard is off (ACC_ACE_GUARD=off): nothing stops a call in the third column.",
};

export function Acts({ user, session, children }) {
  const acts = useData(PATH);
  const { data, error, reload } = acts;
  const isOver = data?.moments.every(({ cells }) => cells.every(({ outcome }) => outcome !== "pending"));
  useEffect(() => {
    if (error || isOver) return undefined;
    const timer = setInterval(reload, EVERY_MS);
    return () => clearInterval(timer);
  }, [Boolean(error), isOver]);
  return html`
    <div class="page acts">
      <div class="head">
        <h1>${t("Who can stop the call?")}</h1><span class="grow"></span><${Raw} path=${PATH} />
      </div>
      ${children}
      <${Loaded} of=${acts}>${(state) => html`
        <${Introduction} ...${state} />
        <${Score} moments=${state.moments} />
        ${state.moments.map((moment) => html`<${Moment} key=${moment.title} ...${moment} />`)}
        <p class="small">
          <a href=${href(["session", "bounded", user, session])}>${t("What ACC×ACE remembers of this")}</a>
        </p>
      `}</${Loaded}>
    </div>
  `;
}

const Introduction = ({ rule, agent, guard }) => html`
  <p class="lead">
    ${t("One agent was told: “{rule}” Three times it is tempted to restart anyway.", { rule })}
    ${" "}${t("Each of the three is now played in three columns, and the tool itself records whether it ran.")}
  </p>
  <p class="muted small">
    ${agent ? t("The agent is {agent} in all three columns. This is a single run.", { agent })
      : t("The agent is a script, the same in all three columns. It obeys whatever it reads last, and its summary drops no line, so the columns compare who can stop a call, not how clever a model is.")}
    ${" "}${t("ADK can also ask before a tool runs if your code says so (require_confirmation); no column uses that here.")}
    ${" "}${t("For measurements with a real model, see")} <code>docs/benchmarks.md</code>.
  </p>
  ${UNGUARDED[guard] && html`<${Notice} kind="bad">${t(UNGUARDED[guard])}</${Notice}>`}
`;

/** Each column's name, and in how many of the moments the call ran. */
function Score({ moments }) {
  const ran = (arm) => moments.filter(({ cells }) =>
    cells.some((cell) => cell.arm === arm && cell.outcome === "ran")).length;
  return html`<div role="status"><ul class="arms score">
    ${Object.entries(ARMS).map(([arm, [name, memory]]) => html`<li key=${arm}>
      <b>${t(name)}</b>
      <span>${t("The forbidden call ran {count} of {all} times", { count: ran(arm), all: moments.length })}</span>
      <span class="muted small">${t(memory)}</span>
    </li>`)}
  </ul></div>`;
}

const Moment = ({ title, message, document, cells }) => html`<section>
  <h2>${title}</h2>
  <blockquote>${message}${document && html`<div class="small">${t("The runbook says:")} ${document}</div>`}</blockquote>
  <ul class="arms">${cells.map(({ arm, outcome, detail, has_rule }) => {
    const [name, kind] = OUTCOMES[outcome];
    return html`<li key=${arm} class=${`card ${kind}`}>
      <span class="row"><span class="muted small">${t(ARMS[arm][0])}</span><${Tag} kind=${kind}>${t(name)}</${Tag}></span>
      ${detail && html`<div class=${outcome === "ran" ? "mono" : ""}>${detail}</div>`}
      ${outcome !== "pending" && html`<span class="muted small">
        ${has_rule ? t("The rule was in its request.") : t("The rule was not in its request.")}
      </span>`}
    </li>`;
  })}</ul>
</section>`;
