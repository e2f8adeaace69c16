/** Tokens and money of a session by turn, against replaying its transcript. */

import { html } from "../vendor/preact.js";
import { usePages } from "../lib/data.js";
import { Chart } from "../lib/chart.js";
import { money, number, tokensOf, usd } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { Empty, Failure, Loading, More, Notice, Raw } from "../lib/ui.js";

export function Cost({ base, isNew }) {
  const path = isNew ? null : `${base}/cost`;
  const cost = usePages(path, { limit: 200 }, { items: "turns" });
  const turns = [...cost.items].reverse();
  if (isNew) return html`<${Empty}>${t("No cost yet.")}</${Empty}>`;
  if (!cost.data) {
    return html`<${Failure} error=${cost.error} reload=${cost.reload} />${cost.isLoading && html`<${Loading} />`}`;
  }
  const { data } = cost;
  return html`
    <div class="row">
      <dl class="stats">
        <div><dt>${t("Spent")}</dt><dd>${money(data.cost)}</dd></div>
        <div><dt>${t("Replaying, at least")}</dt><dd>${money(data.replay)}</dd></div>
        <div><dt>${t("Tokens")}</dt><dd>${number(sum(data.stages))}</dd></div>
        <div><dt>${t("Tokens of a replay")}</dt><dd>${number(tokensOf(data.replayed))}</dd></div>
        <div><dt>${t("Today")}</dt><dd>${money(data.today.spent)}${data.today.ceiling_usd !== null
          ? ` / ${usd(data.today.ceiling_usd)}` : ""}</dd></div>
      </dl>
      <span class="grow"></span><${Raw} path=${`${base}/cost`} />
    </div>
    <p class="muted small">
      ${t("List prices as of {date}; – is a price that is not known.", { date: data.prices_as_of })}
    </p>
    <${Crossing} turns=${turns} />
    <${Curves} turns=${turns} />
    <${Stages} stages=${data.stages} />
    <${More} more=${cost.more} />
  `;
}

const sum = (stages) => stages.reduce((total, { tokens }) => total + tokensOf(tokens), 0);

const running = (values) => {
  let total = 0;
  return values.map((value) => (total += value ?? 0));
};

/** From which turn on the session as a whole is cheaper than replaying it. */
export function crossing(turns) {
  const spent = running(turns.map(({ cost }) => cost.usd));
  const replay = running(turns.map(({ replay: each }) => each.usd));
  const above = spent.findLastIndex((value, at) => value >= replay[at]);
  return above + 1 < turns.length ? turns[above + 1].turn : null;
}

function Crossing({ turns }) {
  if (!turns.some(({ replay }) => replay.usd)) return null;
  const turn = crossing(turns);
  return html`<${Notice}>${turn
    ? t("Cheaper than replaying the transcript from turn {turn} on.", { turn })
    : t("Not yet cheaper than replaying the transcript.")}</${Notice}>`;
}

function Curves({ turns }) {
  const x = turns.map(({ turn }) => turn);
  const replayTokens = turns.map(({ replayed }) => (replayed ? tokensOf(replayed) : null));
  const tokens = [
    { label: t("this session"), values: turns.map((each) => tokensOf(each.tokens)), color: "--accent", format: number },
    { label: t("replay"), values: replayTokens, color: "--warn", dash: [4, 4], format: number },
  ];
  const spent = [
    { label: t("this session"), values: running(turns.map(({ cost }) => cost.usd)), color: "--accent", format: usd },
    { label: t("replay"), values: running(turns.map(({ replay }) => replay.usd)), color: "--warn", dash: [4, 4], format: usd },
  ];
  const hasMoney = turns.some(({ cost, replay }) => cost.usd || replay.usd);
  return html`
    <${Chart} label=${t("Tokens by turn")} x=${x} xLabel=${t("turn")}
      series=${replayTokens.some((value) => value !== null) ? tokens : tokens.slice(0, 1)} />
    ${hasMoney && html`<${Chart} label=${t("Money, summed")} x=${x} xLabel=${t("turn")} series=${spent} />`}
  `;
}

const Stages = ({ stages }) => html`
  <table class="list compact">
    <thead><tr>
      <th>${t("Stage")}</th><th>${t("Model")}</th><th class="num">${t("Read")}</th>
      <th class="num">${t("Cached")}</th><th class="num">${t("Written")}</th>
      <th class="num">${t("Calls")}</th><th class="num">${t("Saved")}</th><th class="num">${t("Cost")}</th>
    </tr></thead>
    <tbody>
      ${stages.map(({ stage, model, tokens, saved, cost }) => html`
        <tr>
          <td>${t(stage)}</td><td class="clip muted">${model || "–"}</td>
          <td class="num">${number(tokens.in)}</td><td class="num">${number(tokens.cached)}</td>
          <td class="num">${number(tokens.out + tokens.thinking)}</td>
          <td class="num">${number(tokens.calls)}</td><td class="num">${number(saved)}</td>
          <td class="num">${money(cost)}</td>
        </tr>
      `)}
    </tbody>
  </table>
`;
