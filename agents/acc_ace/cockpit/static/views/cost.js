/** Tokens and money of a session by turn, against replaying its transcript. */

import { html } from "../lib/preact.js";
import { pageAround, usePages } from "../lib/data.js";
import { Chart } from "../lib/chart.js";
import { money, number, tokensOf, usd } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { Empty, Loaded, More, Notice, Raw, Stats } from "../lib/ui.js";

export function Cost({ base, turn, last, isNew }) {
  const path = isNew ? null : `${base}/cost`;
  const cost = usePages(path, { limit: 200, before: pageAround(turn, last, 200) }, { items: "turns" });
  const turns = [...cost.items].reverse();
  if (isNew) return html`<${Empty}>${t("No cost yet.")}</${Empty}>`;
  return html`<${Loaded} of=${cost}>${(data) => html`
    <div class="row">
      <${Stats} items=${[
        ["Spent", money(data.cost)],
        ["Replaying (minimum)", money(data.replay)],
        ["Tokens", number(sum(data.stages))],
        ["Tokens of a replay", number(tokensOf(data.replayed))],
        ["Today", money(data.today.spent) + (data.today.ceiling_usd ? ` / ${usd(data.today.ceiling_usd)}` : "")],
      ]} />
      <span class="grow"></span><${Raw} path=${`${base}/cost`} />
    </div>
    <p class="muted small">
      ${t("List prices of {date}. A dash means that the price is unknown.", { date: data.prices_as_of })}
    </p>
    ${data.crossing && html`<${Crossing} ...${data.crossing} />`}
    <${Curves} turns=${turns} />
    <${Stages} stages=${data.stages} />
    <${More} more=${cost.more} />
  `}</${Loaded}>`;
}

const sum = (stages) => stages.reduce((total, { tokens }) => total + tokensOf(tokens), 0);

const running = (values) => {
  let total = 0;
  return values.map((value) => (total += value ?? 0));
};

/** The turn from which on the session as a whole took less than replaying it would have. */
const Crossing = ({ money: usdTurn, tokens }) => html`<${Notice}>
  ${tokens ? t("From turn {turn} on, this uses fewer tokens than replaying the transcript.", { turn: tokens })
    : t("So far, replaying the transcript would have used fewer tokens.")}
  ${usdTurn && ` ${t("It is cheaper from turn {turn} on.", { turn: usdTurn })}`}
</${Notice}>`;

const against = (own, replay, format) => [
  { label: t("this session"), values: own, color: "--accent", format },
  { label: t("replay"), values: replay, color: "--warn", dash: [4, 4], format },
];

function Curves({ turns }) {
  const x = turns.map(({ turn }) => turn);
  const tokens = turns.map((each) => tokensOf(each.tokens));
  const replayed = turns.map((each) => tokensOf(each.replayed));
  const spent = running(turns.map(({ cost }) => cost.usd));
  const replay = running(turns.map((each) => each.replay.usd));
  return html`
    <${Chart} label=${t("Tokens by turn")} x=${x} xLabel=${t("turn")}
              series=${against(tokens, replayed, number)} />
    <${Chart} label=${t("Tokens, summed")} x=${x} xLabel=${t("turn")}
              series=${against(running(tokens), running(replayed), number)} />
    ${spent.at(-1) > 0 && html`<${Chart} label=${t("Money, summed")} x=${x} xLabel=${t("turn")}
                                         series=${against(spent, replay, usd)} />`}
  `;
}

const FIGURES = ["Read", "Cached", "Written", "Calls", "Saved", "Cost"];

const Stages = ({ stages }) => html`
  <table class="list compact">
    <thead><tr><th>${t("Stage")}</th><th>${t("Model")}</th>
      ${FIGURES.map((name) => html`<th class="num">${t(name)}</th>`)}</tr></thead>
    <tbody>
      ${stages.map(({ stage, model, tokens: { in: read, cached, out, thinking, calls }, saved, cost }) => html`
        <tr>
          <td>${t(stage)}</td><td class="clip muted">${model || "–"}</td>
          ${[read, cached, out + thinking, calls, saved].map((each) => html`<td class="num">${number(each)}</td>`)}
          <td class="num">${money(cost)}</td>
        </tr>
      `)}
    </tbody>
  </table>
`;
