/** The conversation: its turns, open questions, and the composer of the next turn. */

import { html, useEffect, useRef } from "../vendor/preact.js";
import { post } from "../lib/api.js";
import { useAction } from "../lib/data.js";
import { when } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { Button, Empty, Failure, isMissingRoute, Loading, More, Notice, Tag } from "../lib/ui.js";
import { Calls, Composer, RunningTurn, useTurn } from "./composer.js";

const OUTCOMES = { failed: "bad", refused: "bad", paused: "warn", blocked: "warn" };

export function Chat({ base, turn, turns, rules, reload, isNew, onPick, place }) {
  const running = useTurn(base, place, reload);
  const shown = [...turns.items].reverse();
  const isListed = shown.some((each) => each.turn === running.state?.report?.turn);
  const end = useRef();
  const newest = `${shown.at(-1)?.turn} ${running.state?.phase} ${running.state?.text.length}`;
  useEffect(() => {
    if (turn === shown.at(-1)?.turn || running.state) end.current?.scrollIntoView({ block: "end" });
  }, [newest]);
  return html`
    <section class="chat" aria-label=${t("Chat")}>
      <div class="turns" role="log" aria-live="polite">
        <${More} more=${turns.more} />
        ${turns.error && !isNew && (isMissingRoute(turns.error) || turns.error.status !== 404) &&
        html`<${Failure} error=${turns.error} reload=${turns.reload} />`}
        ${turns.isLoading && html`<${Loading} />`}
        ${isNew && !running.state &&
        html`<${Empty}>${t("A new session. What you say first begins it.")}</${Empty}>`}
        ${shown.map((each) => html`
          <${Turn} key=${each.turn} ...${each} base=${base} isPicked=${each.turn === turn}
                   onPick=${onPick} />
        `)}
        ${running.state && !isListed && html`<${RunningTurn} ...${running} />`}
        <${Waiting} turns=${turns.items} running=${running} />
        <${Questions} base=${base} rules=${rules} reload=${reload} />
        <div ref=${end}></div>
      </div>
      <${Composer} running=${running} />
    </section>
  `;
}

function Turn({ turn, input, answer, outcome, at, created_at, isPicked, onPick, base }) {
  const article = useRef();
  useEffect(() => isPicked && article.current.scrollIntoView({ block: "nearest" }), [isPicked]);
  return html`
    <article ref=${article} class="turn" aria-current=${isPicked ? "true" : undefined}>
      <button type="button" class="no" onClick=${() => onPick(turn)}
              aria-label=${t("Show the memory at turn {turn}", { turn })}>${turn}</button>
      <div class="said">${input}</div>
      <div class="answer">${answer}</div>
      <div class="row muted small">
        ${outcome && OUTCOMES[outcome] && html`<${Tag} kind=${OUTCOMES[outcome]}>${t(outcome)}</${Tag}>`}
        <time>${when(at ?? created_at)}</time>
        <span class="grow"></span>
        ${answer && html`<${Thumbs} path=${`${base}/turns/${turn}/feedback`} />`}
      </div>
    </article>
  `;
}

function Thumbs({ path }) {
  const rate = useAction((thumbs) => post(path, { thumbs }));
  const given = useRef("");
  const button = (thumbs, sign, label) => html`
    <${Button} kind="quiet thumb" aria-label=${label} title=${label}
               aria-pressed=${given.current === thumbs} busy=${rate.isBusy}
               onClick=${async () => (await rate.run(thumbs)) && (given.current = thumbs)}>
      ${sign}
    </${Button}>
  `;
  return html`
    ${button("up", "▲", t("Good answer"))}${button("down", "▼", t("Bad answer"))}
    <${Failure} error=${rate.error} onClose=${rate.dismiss} />
  `;
}

/** What the newest turn waits for, when it paused before this page was opened. */
function Waiting({ turns, running }) {
  const [newest] = turns;
  if (running.state || newest?.outcome !== "paused" || !newest.calls?.length) return null;
  return html`<${Calls} calls=${newest.calls} answer=${running.answer} />`;
}

function Questions({ base, rules, reload }) {
  const settle = useAction(async (id, answer) => {
    await post(`${base}/questions/${encodeURIComponent(id)}`, { answer });
    reload();
  });
  return html`
    ${(rules.data?.questions ?? []).map(({ id, text, quote }) => html`
      <${Notice} key=${id} kind="ask">
        <p>${text}</p>
        ${quote && html`<blockquote>${quote}</blockquote>`}
        <div class="row">
          <${Button} kind="primary" busy=${settle.isBusy} onClick=${() => settle.run(id, "yes")}>
            ${t("Yes")}
          </${Button}>
          <${Button} busy=${settle.isBusy} onClick=${() => settle.run(id, "no")}>${t("No")}</${Button}>
          <span class="muted small mono">${id}</span>
        </div>
      </${Notice}>
    `)}
    <${Failure} error=${settle.error} onClose=${settle.dismiss} />
  `;
}
