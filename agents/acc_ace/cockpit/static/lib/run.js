/** A survivor's run: from this server, or from a JSONL file of the user's that never leaves it. */

import { get } from "./api.js";
import { t } from "./i18n.js";

/** The version of LoopSnapshot that this page reads. */
export const SNAPSHOT_VERSION = 1;
const PAGE = 50;
const SERIES = ["danger", "unknown", "fear", "curiosity", "threshold"];

const valuesOf = (tick) => ({
  life: tick.body.life,
  food: tick.body.food,
  water: tick.body.water,
  ...Object.fromEntries(SERIES.map((name) => [name, tick[name]])),
  reward: tick.scoreboard.total,
  score: tick.scoreboard.score,
});

export function isReadable(tick) {
  return tick?.version === SNAPSHOT_VERSION && Boolean(tick.body && tick.plan && tick.steps);
}

/** The series of ticks 1, 2, …: {n: [], values: {name: []}}. */
export function seriesOf(ticks) {
  const series = { n: [], values: {} };
  for (const tick of ticks) appendTo(series, tick.n, tick);
  return series;
}

/** Add the values of a tick at the end of a series. */
export function appendTo(series, n, tick) {
  if (!isReadable(tick)) return;
  series.n.push(n);
  for (const [name, value] of Object.entries(valuesOf(tick))) {
    (series.values[name] ??= []).push(value);
  }
}

/** A run file as a list of ticks, and what could not be read of it. Raises an Error with nothing. */
export async function readFile(file) {
  const lines = (await file.text()).split("\n").filter((line) => line.trim());
  const ticks = [];
  const versions = new Set();
  let broken = 0;
  for (const line of lines) {
    const tick = parsed(line);
    if (isReadable(tick)) ticks.push({ ...tick, n: ticks.length + 1 });
    else if (tick?.version && tick.version !== SNAPSHOT_VERSION) versions.add(tick.version);
    else broken += 1;
  }
  if (!ticks.length && !versions.size) throw new Error(t("This is no run file of a survivor."));
  const warnings = [
    versions.size && otherVersion([...versions].join(", ")),
    broken && t("{count} lines cannot be read.", { count: broken }),
  ].filter(Boolean);
  return { name: file.name, ticks, warnings };
}

export const otherVersion = (version) =>
  t("This run was written by another version (its format is {version}, this page reads {known}).", {
    version,
    known: SNAPSHOT_VERSION,
  });

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/** Ticks of a run kept by the server, read page by page. */
export class ServerRun {
  constructor(run) {
    this.run = run;
    this.pages = new Map();
    this.count = 0;
  }

  /** The ticks of the page that holds tick `n`, oldest first. */
  async around(n) {
    const first = Math.floor((n - 1) / PAGE) * PAGE;
    const known = this.pages.get(first);
    if (known && (known.length === PAGE || known.at(-1)?.n >= this.count)) return known;
    const query = { run: this.run, after: first, limit: PAGE };
    const page = await get("snapshots", query);
    this.count = Math.max(this.count, page.newest);
    this.pages.set(first, page.items);
    return page.items;
  }

  series() {
    return get("snapshots/series", { run: this.run });
  }
}

/** Ticks of a file. */
export class FileRun {
  constructor(ticks) {
    this.ticks = ticks;
    this.count = ticks.length;
  }

  async around(n) {
    const first = Math.floor((n - 1) / PAGE) * PAGE;
    return this.ticks.slice(first, first + PAGE);
  }

  async series() {
    return seriesOf(this.ticks);
  }
}
