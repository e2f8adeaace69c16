/** The conversation: its turns, open questions, and the composer of the next turn. */

import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { post } from "../lib/api.js";
import { useData } from "../lib/data.js";
import { number, parseJson, tokensOf, when } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { Markdown } from "../lib/markdown.js";
import { OWN_APP } from "../lib/router.js";
import { Act, Button, Failure, Loading, More, Tag } from "../lib/ui.js";
import { Questions } from "./rules.js";
import { Calls, Composer, CONFIRMATION, RunningTurn, Said, useTurn } from "./composer.js";
import { Examples, opening } from "./start.js";

/** Turns after which a session needs no examples. */
const FEW = 4;
const OUTCOMES = { failed: "bad", paused: "warn", undone: "" };

export function Chat({ base, turn, last, turns, rules, head, reload, isNew, isNewest, onPick, place }) {
  const running = useTurn(base, place, reload);
  const apps = useData("list-apps").data;
  const isHosted = place.app === OWN_APP || (apps?.includes(place.app) ?? null);
  const shown = [...turns.items].reverse();
  const isListed = shown.some((each) => each.turn === running.state?.report?.turn);
  const isBusy = running.state && !isListed;
  useEffect(() => {
    if (!isNew || !isHosted || opening.session !== place.session) return;
    opening.session = "";
    if (opening.text) running.send(opening.text);
  }, [isNew, isHosted]);
  const list = useRef();
  const newest = `${shown.at(-1)?.turn} ${running.state?.phase} ${running.state?.text.length}`;
  useEffect(() => {
    if (turn === shown.at(-1)?.turn || running.state) list.current.scrollTop = list.current.scrollHeight;
  }, [newest]);
  return html`
    <section class="chat" aria-label=${t("Chat")}>
      <div ref=${list} class="turns" role="log" aria-live="polite">
        <${More} more=${turns.more} />
        ${!head.error && html`<${Failure} error=${turns.error} reload=${turns.reload} />`}
        ${turns.isLoading && html`<${Loading} />`}
        ${isNew && !running.state && html`<p class="empty">${t("A new session. Your first message starts it.")}</p>`}
        ${shown.map((each) => html`
          <${Turn} key=${each.id} ...${each} base=${base} isPicked=${each.turn === turn}
                   onPick=${onPick} />
        `)}
        ${!isNewest && html`<p class="more"><${Button} onClick=${() => onPick(last)}>${t("To the newest")}</${Button}></p>`}
        ${running.state && !isListed && html`<${RunningTurn} ...${running} />`}
        <${Waiting} turns=${turns.items} running=${running} isHosted=${isHosted} />
        ${isHosted && !isBusy && last < FEW && place.name !== "demo" && html`<${Examples} say=${running.send} said=${shown.map(({ input }) => input.text)} />`}
        ${place.tab !== "rules" && html`<${Questions} ...${{ base, rules, reload }} />`}
      </div>
      ${isHosted
        ? html`<${Composer} running=${running} />`
        : isHosted === false && html`<p class="composer muted">
            ${t("{app} runs in another process. You can read its conversations here, but not write in them.", place)}</p>`}
    </section>
  `;
}

function Turn({ turn, isPicked, onPick, base, ...it }) {
  const article = useRef();
  useEffect(() => {
    if (isPicked) article.current.scrollIntoView({ block: "nearest" });
  }, [isPicked]);
  const kind = OUTCOMES[it.outcome];
  return html`
    <article ref=${article} class=${`turn ${it.outcome}`} aria-current=${isPicked ? "true" : undefined}>
      <button type="button" class="no" onClick=${() => onPick(turn)}
              aria-label=${t("Show the memory at turn {turn}", { turn })}>${turn}</button>
      <${Said} ...${it.input} />
      ${it.tools.map((tool) => html`<${ToolCall} key=${tool.id} ...${tool} />`)}
      ${it.guarded.map(({ tool, verdict, rule_id: rule, why }) => html`
        <p class="small"><${Tag} kind=${verdict === "allowed" ? "" : "warn"}>${t(verdict)}</${Tag}>
          ${" "}${tool} ${rule && html`<code>${rule}</code>`} <span class="muted">${why}</span></p>
      `)}
      ${it.answer && html`<div class="answer"><${Markdown} text=${it.answer} /></div>`}
      ${it.notes.map((note) => html`<p class="note mono">${note}</p>`)}
      <div class="row muted small">
        ${kind !== undefined && html`<${Tag} kind=${kind}>${t(it.outcome)}</${Tag}>`}
        <time>${when(it.at)}</time>
        ${it.cost && html`<span>${number(tokensOf(it.cost.tokens))} ${t("tokens")}</span>`}
        <span class="grow"></span>
        ${it.outcome === "answered" &&
        html`<${Thumbs} path=${`${base}/turns/${turn}/feedback`} given=${it.feedback} />`}
      </div>
    </article>
  `;
}

const ToolCall = ({ name, arguments: args, result, is_error: isError }) => html`
  <details class="tool small">
    <summary class="mono">${isError ? "✗" : result === null ? "…" : "✓"} ${name}(${args})</summary>
    <pre>${result ?? t("no result")}</pre>
  </details>
`;

function Thumbs({ path, given }) {
  const [own, setOwn] = useState(null);
  const current = own ?? given.findLast(({ thumbs }) => thumbs)?.thumbs;
  const rate = async (thumbs) => {
    await post(path, { thumbs });
    setOwn(thumbs);
  };
  return [["up", "▲", "Good answer"], ["down", "▼", "Bad answer"]].map(([thumbs, sign, label]) => html`
    <${Act} key=${thumbs} kind="quiet thumb" aria-label=${t(label)} title=${t(label)}
            aria-pressed=${String(current === thumbs)} action=${() => rate(thumbs)}>${sign}</${Act}>
  `);
}

/** What the newest turn waits for, when it paused before this page was opened. */
function Waiting({ turns, running, isHosted }) {
  const [newest] = turns;
  if (running.state || newest?.outcome !== "paused") return null;
  const calls = newest.tools.filter(({ name, result }) => name === CONFIRMATION && result === null);
  const whole = calls.map((call) => ({ ...call, args: parseJson(call.arguments, { arguments: call.arguments }) }));
  return html`<${Calls} calls=${whole} answer=${isHosted && running.answer} />`;
}
