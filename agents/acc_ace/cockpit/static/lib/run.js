/** A survivor's run: from this server, or from a JSONL file of the user's that never leaves it. */

import { get } from "./api.js";
import { parseJson } from "./format.js";
import { t } from "./i18n.js";

/** The version of LoopSnapshot that this page reads. */
const SNAPSHOT_VERSION = 1;
const PAGE = 50;

export const isReadable = (tick) =>
  tick?.version === SNAPSHOT_VERSION && Boolean(tick.body && tick.plan && tick.steps);

export const otherVersion = (version) =>
  t("This run was written by a different version (its format is {version}; this page reads {known}).",
    { version, known: SNAPSHOT_VERSION });

/** A run file as ticks and warnings of what could not be read. Raises an Error for another file. */
export async function readFile(file) {
  const lines = (await file.text()).split("\n").filter((line) => line.trim()).map((line) => parseJson(line));
  const ticks = lines.filter(isReadable).map((tick, at) => ({ ...tick, n: at + 1 }));
  const others = new Set(lines.map((tick) => tick?.version).filter((each) => each && each !== SNAPSHOT_VERSION));
  if (!ticks.length && !others.size) throw new Error(t("This is not a survivor run file."));
  const broken = lines.filter((tick) => !isReadable(tick) && !others.has(tick?.version)).length;
  const warnings = [...others].map(otherVersion);
  if (broken) warnings.push(t("{count} lines cannot be read.", { count: broken }));
  return { name: file.name, ticks, warnings };
}

/** The page of ticks that holds tick `n` begins behind this one. */
const before = (n) => Math.floor((n - 1) / PAGE) * PAGE;

/** Ticks of a run kept by the server, read page by page. */
export class ServerRun {
  constructor(run) {
    this.run = run;
    this.count = 0;
  }

  /** The ticks around tick `n`, oldest first. */
  async around(n) {
    const page = await get("snapshots", { run: this.run, after: before(n), limit: PAGE });
    this.count = Math.max(this.count, page.newest);
    return page.items;
  }

  measures = () => get("snapshots/measures", { run: this.run });
}

/** Ticks of a file. */
export class FileRun {
  constructor(ticks) {
    this.ticks = ticks;
    this.count = ticks.length;
  }

  around = async (n) => this.ticks.slice(before(n), before(n) + PAGE);

  /** What the page shows of a server's measures: series of all ticks, and the lives. */
  async measures() {
    const [series, lives] = [{}, []];
    for (const { body, scoreboard: { score }, ...tick } of this.ticks) {
      for (const [name, value] of Object.entries({ ...tick, ...body, score })) {
        if (typeof value === "number") (series[name] ??= []).push(value);
      }
      const { episode, n, died_of } = tick;
      if (lives.at(-1)?.episode !== episode) lives.push({ episode, line: n, learned: [] });
      const life = Object.assign(lives.at(-1), { ticks: n - lives.at(-1).line + 1, died_of });
      const isNew = ({ type, outcome }) => outcome === "applied" && type !== "TAG" && type !== "REMOVE";
      life.learned.push(...tick.playbook.filter(isNew).map(({ content }) => content));
    }
    return { series, newest: lives };
  }
}
