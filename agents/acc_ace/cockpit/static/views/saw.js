/** What the models of a turn saw: each request as a window of parts, its reply, time and price. */

import { html, useState } from "../lib/preact.js";
import { useData } from "../lib/data.js";
import { duration, number, tokensOf, usd } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { Choice, Empty, Loaded, Notice, Raw, Stats } from "../lib/ui.js";
import { Rerun } from "./rerun.js";

export function Saw({ base, turn }) {
  const path = turn ? `${base}/turns/${turn}/requests` : null;
  const requests = useData(path);
  const [picked, setPicked] = useState(null);
  if (!turn) return html`<${Empty}>${t("No turn yet.")}</${Empty}>`;
  return html`<${Loaded} of=${requests}>${({ calls }) => {
    const main = Math.max(calls.findLastIndex(({ stage }) => stage === "generator"), 0);
    const at = picked !== null && picked < calls.length ? picked : main;
    const options = calls.map(({ stage, tokens }, index) => [
      index, html`${t(stage)} <small>${number(tokens.in)}</small>`,
    ]);
    return html`
      <div class="row">
        <${Choice} label=${t("Calls")} options=${options} current=${at} onPick=${setPicked} />
        <span class="grow"></span><${Raw} path=${path} />
      </div>
      ${calls.length
        ? html`<${Call} key=${`${turn}/${at}`} ...${calls[at]} />`
        : html`<${Empty}>${t("No model was called in this turn.")}</${Empty}>`}
      <${Rerun} key=${base + turn} path=${`${base}/turns/${turn}/rerun`} />
    `;
  }}</${Loaded}>`;
}

function Call({ agent, model, parts, reply, tokens, reply_usd: replyUsd, seconds, error }) {
  const answer = { kind: "reply", text: reply, tokens: tokensOf(tokens) - tokens.in, usd: replyUsd };
  const cached = parts.reduce((sum, part) => sum + part.cached, 0);
  const total = parts.reduce((sum, part) => sum + part.tokens, 0) || 1;
  const share = (value) => `${((100 * value) / total).toFixed(1)}%`;
  return html`
    <${Stats} items=${[
      ["Model", html`<span class="plain">${[model || "–", agent].filter(Boolean).join(" · ")}</span>`],
      ["Read", number(tokens.in)],
      ["Cached", number(tokens.cached)],
      ["Written", number(answer.tokens)],
      ["Time", duration(seconds * 1_000)],
    ]} />
    ${error && html`<${Notice} kind="bad">${error}</${Notice}>`}
    <div class="window" role="img" aria-label=${t("The request by parts")}>
      ${parts.map((part, index) => html`
        <span class=${`part p${index % 10}`} style=${{ width: share(part.tokens) }}
              title=${`${t(part.kind)}: ${number(part.tokens)} ${t("tokens")}`}></span>
      `)}
    </div>
    ${cached > 0 && html`<div class="cached" style=${{ width: share(cached) }}>
      ${t("cached")} ${share(cached)}</div>`}
    <div class="parts">
      ${[...parts, answer].map((part, index) => html`
        <details key=${index} open=${part === answer}>
          <summary>
            <span class=${`swatch ${part === answer ? "" : `p${index % 10}`}`}></span>
            <b>${t(part.kind)}</b>
            <span class="grow"></span>
            ${part.cached > 0 && html`<span class="muted">${t("cached")} ${number(part.cached)}</span>`}
            <span class="num">${number(part.tokens)}</span>
            <span class="num muted">${part !== answer && share(part.tokens)}</span>
            <span class="num muted">${usd(part.usd)}</span>
          </summary>
          <pre tabindex="0">${part.text || "–"}</pre>
          ${part.cut > 0 && html`<p class="muted small">
            ${t("{cut} more characters are not stored.", { cut: number(part.cut) })}</p>`}
        </details>
      `)}
    </div>
  `;
}
