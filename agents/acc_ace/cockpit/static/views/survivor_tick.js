/** One tick of the survivor: where it is, how it is, what it did and why, what it learnt. */

import { html } from "../lib/preact.js";
import { decimal, number } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { Stats, Tag } from "../lib/ui.js";
import { statusKind } from "./playbook.js";

const TERRAIN = ["rock", "thicket", "lava", "safe", "unseen"];
const CAMERA = 12; // Cells on each side of the body that the camera shows.
const BLANK = ["plain", "unseen"];
const STEP_KINDS = { blocked: "bad", failed: "bad", evaded: "warn", skipped: "" };
const LOGS = { alert: "Alert log", exploration: "Exploration log", meta: "Meta notes", playground: "Playground" };

export function Tick({ tick, trail, recent, onPick, children }) {
  const { body, scoreboard: board } = tick;
  return html`
    <div class="tick">
      <section aria-label=${t("World")}>
        <${Grid} ...${tick} />
        <div class="row small">
          ${Object.entries(tick.legend).map(([symbol, name]) => html`
            <span class="nowrap"><b class=${`mono ${kindOf(name)}`}>${symbol}</b> ${t(name)}</span>`)}
        </div>
        <${World} tick=${tick} trail=${trail} recent=${recent} />
      </section>
      <section aria-label=${t("Now")}>
        <div class="row">
          <b>${t("Episode {episode}, tick {tick}", tick)}</b>
          <${Tag}>${t("season {season}", { season: tick.season ?? 0 })}${tick.is_night ? ` · ${t("night")}` : ""}</${Tag}>
          ${tick.is_safe && html`<${Tag} kind="good">${t("safe")}</${Tag}>`}
          ${tick.died_of && html`<${Tag} kind="bad">${t("died of {cause}", { cause: tick.died_of })}</${Tag}>`}
          <span class="grow"></span><span class="muted small">${tick.model}</span>
        </div>
        <${Plan} plan=${tick.plan} />
        <dl class="gauges">
          ${["life", "food", "water"].map((name) => html`
            <dt>${t(name)}</dt>
            <dd><meter min="0" max=${body[`most_${name}`]} low=${body[`most_${name}`] / 3}
                  high=${body[`most_${name}`] / 2} optimum=${body[`most_${name}`]} value=${body[name]} />
              <span class="num">${body[name]} / ${body[`most_${name}`]}</span></dd>
          `)}
          ${["unknown", "fear", "curiosity"].map((name) => html`
            <dt>${t(name)}</dt><dd><meter min="0" max=${name === "curiosity" ? 2 : 1} value=${tick[name]} />
              <span class="num">${decimal(tick[name])}</span></dd>
          `)}
        </dl>
        <${Stats} items=${[
          ["Survival score", decimal(board.score, 1)],
          ["Reward of the tick", decimal(board.total)],
          ["Cells seen", number(tick.cells_seen)],
          ["Kinds known", number(tick.kinds_known)],
        ]} />
        <p class="small muted">${parts(board.external)} ${parts(board.intrinsic)}</p>
        ${[...board.warnings, ...tick.warnings].map((text) => html`<p class="warning small">${text}</p>`)}
      </section>
      <section>${children}</section>
    </div>
    <h2>${t("Actions")}</h2>
    <${Steps} steps=${tick.steps} />
    <div class="halves">
      <section><h2>${t("Timeline")}</h2><${Recent} recent=${recent} onPick=${onPick} /></section>
      <section>
        ${Object.entries(LOGS).map(([name, title]) => html`<${Entries} title=${title}
          entries=${tick.logs.filter(({ log }) => log === name).map(({ about, text, count }) =>
            html`<b>${about}</b> ${text}${count > 1 && html`<span class="muted"> ×${count}</span>`}`)} />`)}
        <${Entries} title="Playbook" entries=${tick.playbook.map((change) => html`
          ${change.type} <${Tag} kind=${statusKind(change.outcome)}>${t(change.outcome)}</${Tag}>${" "}
          ${change.content} <span class="muted">${change.rationale}</span>`)} />
      </section>
    </div>
  `;
}

const parts = (rewards) =>
  Object.entries(rewards).map(([name, value]) => `${name} ${decimal(value)}`).join(" · ");

/** The view, north first, the body in its middle; this tick's steps are marked. */
function Grid({ view, legend, place, path }) {
  const half = (view.length - 1) / 2;
  const walked = new Set(path.map(([row, column]) => `${row - place[0] + half}/${column - place[1] + half}`));
  const columns = { gridTemplateColumns: `repeat(${view[0]?.length ?? 1}, 1fr)` };
  return html`
    <div class="grid" style=${columns} role="img" aria-label=${t("What the survivor sees, north first")}>
      ${view.flatMap((line, row) => [...line].map((symbol, column) => {
        const name = legend[symbol] ?? "";
        const kind = row === half && column === half ? "you" : kindOf(name);
        const steps = walked.has(`${row}/${column}`) ? "walked" : "";
        return html`<span key=${`${row}/${column}`} class=${`${kind} ${steps}`} title=${name}>
          ${BLANK.includes(name) ? "" : symbol}</span>`;
      }))}
    </div>
  `;
}

const kindOf = (name) => (TERRAIN.includes(name) ? name : name && name !== "plain" ? "thing" : "");

/** The ground that the last ticks of the life saw, and the path; the camera follows the body. */
function World({ tick: { place: [row, column], episode }, trail, recent }) {
  const ground = new Map();
  for (const { view, legend, place } of recent.filter((each) => each.episode === episode)) {
    const half = (view.length - 1) / 2;
    view.forEach((line, south) => [...line].forEach((symbol, east) => {
      const [y, x, name] = [place[0] + south - half, place[1] + east - half, legend[symbol]];
      if (name && name !== "unseen") ground.set(`${y}/${x}`, { y, x, name });
    }));
  }
  return html`
    <svg class="world" viewBox=${`${column - CAMERA} ${row - CAMERA} ${2 * CAMERA + 1} ${2 * CAMERA + 1}`}
         role="img" aria-label=${t("The path in the world")}>
      ${[...ground].map(([key, { y, x, name }]) => html`
        <rect key=${key} x=${x} y=${y} width="1" height="1" class=${TERRAIN.includes(name) ? name : ""} />`)}
      <polyline points=${trail.map(([r, c]) => `${c + 0.5},${r + 0.5}`).join(" ")} />
      <circle cx=${column + 0.5} cy=${row + 0.5} r="0.5" />
    </svg>
  `;
}

const Plan = ({ plan }) => html`
  <dl class="plan">
    ${[
      ["Reflection", plan.reflection || "–"],
      ["Objective", html`<b>${plan.objective}</b>`],
      ["Subgoals", plan.subgoals.join(" · ")],
      ["Plan", plan.actions.map(({ type, target, times }) => `${type} ${target} ×${times}`).join(", ")],
      ["Risk", `${decimal(plan.risk)} · ${t("expected reward")} ${decimal(plan.expected_reward)}`],
      ["Watch", plan.watch],
      ["Lessons", plan.bullet_ids.join(", ")],
    ].map(([name, value]) => value && html`<dt>${t(name)}</dt><dd>${value}</dd>`)}
  </dl>
`;

const signed = (value) => (value > 0 ? `+${value}` : value || "");
const CHANGED = ["life", "food", "water"];

const Steps = ({ steps }) => html`
  <table class="list compact">
    <thead><tr>
      <th>${t("Wanted")}</th><th>${t("Done")}</th><td></td>
      ${["fear", "reward", ...CHANGED].map((name) => html`<th class="num">${t(name)}</th>`)}
      <th>${t("Why")}</th>
    </tr></thead>
    <tbody>
      ${steps.map((step) => html`
        <tr>
          <td>${step.wanted}</td><td>${step.done}</td>
          <td>${step.status !== "done" &&
            html`<${Tag} kind=${STEP_KINDS[step.status]}>${t(step.status)}</${Tag}>`}</td>
          <td class="num">${decimal(step.danger)}</td><td class="num">${decimal(step.reward)}</td>
          ${CHANGED.map((name) => html`
            <td class=${`num ${name === "life" && step.life < 0 ? "loss" : ""}`}>${signed(step[name])}</td>`)}
          <td>${[step.cause, step.why, step.rule_id].filter(Boolean).join(" · ")}</td>
        </tr>
      `)}
    </tbody>
  </table>
`;

const Recent = ({ recent, onPick }) => html`
  <table class="list compact">
    <thead><tr><th>${t("tick")}</th><th>${t("Objective")}</th><th class="num">${t("reward")}</th>
      <th class="num">${t("loss")}</th><th class="num">${t("fear")}</th></tr></thead>
    <tbody>
      ${[...recent].reverse().slice(0, 14).map((each) => html`
        <tr key=${each.n} aria-current=${each === recent.at(-1) ? "true" : undefined}>
          <td><button type="button" class="link" onClick=${() => onPick(each.n)}>${each.n}</button></td>
          <td class="clip">${each.plan.objective}</td>
          <td class="num">${decimal(each.scoreboard.total)}</td>
          <td class=${`num ${lossOf(each) ? "loss" : ""}`}>${lossOf(each) || ""}</td>
          <td class="num">${each.alerts.length > 0 && "⚠ "}${decimal(fearOf(each))}</td>
        </tr>
      `)}
    </tbody>
  </table>
`;

const fearOf = ({ steps }) => Math.max(0, ...steps.map((step) => step.danger));
const lossOf = ({ steps }) => -steps.reduce((sum, { life }) => sum + Math.min(life, 0), 0);

const Entries = ({ title, entries }) => entries.length > 0 && html`
  <h2>${t(title)} <span class="count">${entries.length}</span></h2>
  <ul class="items small">${entries.map((entry) => html`<li>${entry}</li>`)}</ul>
`;
