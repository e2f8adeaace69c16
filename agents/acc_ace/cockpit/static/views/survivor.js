/** The survivor: the live loop of this server, its saved runs, or a run file of the user's. */

import { html, useEffect, useMemo, useState } from "../lib/preact.js";
import { Chart } from "../lib/chart.js";
import { useAction, useData, useStream } from "../lib/data.js";
import { decimal, number } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { go, href } from "../lib/router.js";
import { FileRun, isReadable, otherVersion, readFile, ServerRun } from "../lib/run.js";
import { Button, Failure, isMissingRoute, Loading, Notice, Raw, Scrubber, Tag } from "../lib/ui.js";
import { Connection } from "./session.js";
import { AlertBanner, Controls, notify } from "./survivor_controls.js";
import { Tick } from "./survivor_tick.js";

const REPLAY_MS = 300;
const MOST_LIVES = 40;
const CHARTS = [
  ["Fear and curiosity", [["fear", "--bad"], ["threshold", "--strong"], ["curiosity", "--accent"]]],
  ["Body", [["life", "--bad"], ["food", "--good"], ["water", "--accent"]]],
  ["Survival score", [["score", "--accent"]]],
];

export default function Survivor({ route, me }) {
  const runs = useData("snapshots/runs");
  const [file, setFile] = useState(null);
  const open = useAction(async (chosen) => setFile(chosen && (await readFile(chosen))));
  const run = route.query.run || runs.data?.[0]?.run;
  return html`
    <div class="page wide">
      <div class="head">
        <h1>${t("Survivor")}</h1>
        ${runs.data?.length > 0 && html`
          <select aria-label=${t("Run")} value=${file ? "" : run}
                  onChange=${(event) => (setFile(null), go(["survivor"], { run: event.target.value }))}>
            ${file && html`<option value="">${file.name}</option>`}
            ${runs.data.map((each) => html`<option value=${each.run}>
              ${each.run}${each.is_live ? ` · ${t("live")}` : ""}</option>`)}
          </select>`}
        <label class="button">${t("Open a run file")}
          <input type="file" class="hidden" accept=".jsonl,.json,application/x-ndjson"
                 onChange=${(event) => open.run(event.target.files[0])} /></label>
        <span class="grow"></span>
        ${run && !file && !me.signed_in &&
        html`<a class="button" href=${href(["playbook"], { app: "survivor", user: run })}>${t("Playbook")}</a>`}
        ${run && !file && html`<${Raw} path="snapshots" query=${{ run }} />`}
      </div>
      <${Failure} error=${open.error} onClose=${open.dismiss} />
      <${Failure} error=${!isMissingRoute(runs.error) && runs.error} reload=${runs.reload} />
      ${file ? html`<${FileView} key=${file.name} file=${file} />`
        : run ? html`<${LiveView} key=${run} run=${run} reload=${runs.reload}
                       isLive=${runs.data?.find((each) => each.run === run)?.is_live} />`
        : runs.isLoading ? html`<${Loading} />`
        : html`<${Notice}>${t("There are no runs here. Open a run file, or start a run:")}${" "}
            <code>acc-ace survive --ui 8080</code></${Notice}>`}
    </div>
  `;
}

function FileView({ file }) {
  const source = useMemo(() => new FileRun(file.ticks), [file]);
  return html`
    ${file.warnings.map((text) => html`<${Notice} kind="warn">${text}</${Notice}>`)}
    ${source.count > 0 && html`<${Replay} source=${source} count=${source.count} />`}
  `;
}

/** A run of this server; new ticks of a live one come by the stream. */
function LiveView({ run, isLive, reload }) {
  const source = useMemo(() => new ServerRun(run), [run]);
  const [count, setCount] = useState(0);
  const [error, setError] = useState(null);
  const settings = useData(isLive ? "survivor/settings" : null);
  useEffect(() => void source.around(1).then(() => setCount(source.count), setError), [source]);
  useEffect(() => {
    const timer = isLive && setInterval(reload, 5_000); // The list says when a run has ended.
    return () => clearInterval(timer);
  }, [isLive]);
  const connection = useStream("sse/timeline", { run }, ({ type, data }) => {
    if (type !== "tick") return;
    setCount((old) => Math.max(old, data.n));
    if (settings.data?.notifications) notify(data.data.alerts);
  });
  return html`
    <div class="row">${isLive ? html`<${Connection} state=${connection} />`
      : html`<${Tag}>${t("a saved run, read-only")}</${Tag}>`}</div>
    <${Failure} error=${error} />
    ${isLive && html`<${Controls} settings=${settings} />`}
    ${count > 0 && html`<${Replay} source=${source} count=${count} isLive=${isLive} />`}
  `;
}

/** Any tick of a run, its lives, the charts of all, and a replay of all or of one life. */
function Replay({ source, count, isLive }) {
  const [picked, setPicked] = useState(null);
  const [last, setLast] = useState(0); // The tick at which the replay stops; 0 without one.
  const [ticks, setTicks] = useState([]);
  const [{ series, newest: lives }, setMeasures] = useState({ series: {}, newest: [] });
  const [error, setError] = useState(null);
  const n = Math.min(picked ?? count, count);

  useEffect(() => {
    if (ticks.some((tick) => tick.n === n)) return undefined;
    let isOld = false;
    source.around(n).then((found) => isOld || (setTicks(found), setError(null)), setError);
    return () => (isOld = true);
  }, [source, n]);
  // A long run's charts change little from tick to tick.
  useEffect(() => void source.measures().then(setMeasures, setError),
    [source, count < 200 ? count : Math.floor(count / 10)]);
  const to = (next) => setPicked(next >= count && isLive ? null : next);
  useEffect(() => {
    if (!last) return undefined;
    if (n >= last) return setLast(0);
    const timer = setTimeout(() => to(n + 1), REPLAY_MS);
    return () => clearTimeout(timer);
  }, [last, n]);

  // Whoever follows a run keeps the last tick in view until the new one has been read.
  const tick = ticks.find((each) => each.n === n) ?? (picked === null ? ticks.at(-1) : undefined);
  const play = () => {
    if (!last && n >= count) setPicked(1);
    setLast(last ? 0 : count);
  };
  const replay = ({ line, ticks: lived }) => (setPicked(line), setLast(line + lived - 1));
  return html`
    <div class="row">
      <${Button} onClick=${play}>${last ? t("Stop the replay") : t("Replay")}</${Button}>
      <div class="grow"><${Scrubber} label=${t("Tick")} min=${1} max=${count} value=${n}
        text=${t("tick {n} of {count}", { n: number(n), count: number(count) })} onChange=${to} /></div>
      ${isLive && picked !== null &&
      html`<${Button} onClick=${() => setPicked(null)}>${t("To the newest")}</${Button}>`}
    </div>
    <${Failure} error=${error} />
    <${Lives} lives=${lives.slice(-MOST_LIVES)} now=${tick?.episode} onPlay=${replay} />
    ${tick && !isReadable(tick) && html`<${Notice} kind="warn">${
      tick.version ? otherVersion(tick.version) : (tick.warning ?? t("This tick cannot be read."))
    }</${Notice}>`}
    ${isReadable(tick) && html`
      <${AlertBanner} alerts=${tick.alerts} />
      <${Tick} tick=${tick} trail=${trailOf(ticks, tick)}
               recent=${ticks.filter((each) => isReadable(each) && each.n <= n)} onPick=${to}>
        ${CHARTS.map(([label, lines]) => html`
          <${Chart} key=${label} label=${t(label)} height=${120} x=${series.n ?? []} xLabel=${t("tick")}
            series=${lines.map(([name, color]) => ({
              label: t(name), values: series[name] ?? [], color, format: short,
            }))} />
        `)}
      </${Tick}>
    `}
  `;
}

/** Lives side by side: how long each was, what ended it, what it learned; a click replays it. */
const Lives = ({ lives, now, onPlay }) => html`
  <div class="lives" role="group" aria-label=${t("Lives")}>
    ${lives.map((life) => html`
      <button type="button" key=${life.line} class="card small" onClick=${() => onPlay(life)}
              aria-current=${life.episode === now ? "true" : undefined} title=${life.learned.join("\n")}>
        <b>${t("Life {episode}", life)}</b> ${t("{count} ticks", { count: number(life.ticks) })}
        <meter min="0" max=${Math.max(...lives.map(({ ticks }) => ticks))} value=${life.ticks} />
        <span>${life.died_of ? t("died of {cause}", { cause: t(life.died_of) }) : t("alive")}</span>
        <span class="muted">${life.learned.join(" · ") || t("nothing new")}</span>
      </button>
    `)}
  </div>
`;

const short = (value) => (Number.isInteger(value) ? number(value) : decimal(value));

/** Places of the ticks before this one in its episode, and of its own steps. */
const trailOf = (ticks, { episode, n }) =>
  ticks.filter((each) => isReadable(each) && each.episode === episode && each.n <= n)
    .flatMap(({ path, place }) => (path.length ? path : [place]));
