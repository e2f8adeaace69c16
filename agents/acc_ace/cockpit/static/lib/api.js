/** HTTP to the server that this page comes from. Answers are JSON; errors are Problems. */

const BASE = new URL("../../", import.meta.url);
/** Above the server's heartbeat of 15 s: a stream that is silent for longer is broken. */
const SILENCE_MS = 45_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8_000;
/** Streams that are open at once: a browser has six connections to a host. More than these take turns. */
const MOST_STREAMS = 3;
const TURN_MS = 2_000;

/** What every request is about; the router sets it. */
export const whose = { app: "", user: "" };

/** Who is signed in, if anybody: no part of a request. */
export const viewer = { user: "" };

/** An answer that is no success: the server's problem document, or a lost connection (status 0). */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export function address(path, query = {}) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries({ ...whose, ...query })) {
    if (value !== "" && value !== null && value !== undefined) url.searchParams.set(name, value);
  }
  return url.href;
}

async function send(method, path, { query, body, headers, signal } = {}) {
  try {
    const usual = { Accept: "application/json" };
    if (body !== undefined) usual["Content-Type"] = "application/json";
    return await fetch(address(path, query), {
      method, signal, headers: { ...usual, ...headers }, body: JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "the server does not answer");
  }
}

async function problemOf(response) {
  const said = await response.json().catch(() => ({}));
  const detail = said.detail ?? response.statusText;
  return new Problem(response.status, typeof detail === "string" ? detail : JSON.stringify(detail));
}

export async function call(method, path, options) {
  const response = await send(method, path, options);
  if (!response.ok) throw await problemOf(response);
  return response.status === 204 ? null : response.json();
}

export const get = (path, query, signal) => call("GET", path, { query, signal });
export const post = (path, body, options) => call("POST", path, { ...options, body });

/** Server-sent events of a response, in order: {type, id, data}. */
async function* eventsOf(response, onChunk = () => {}) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    onChunk();
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const event = eventOf(block);
      if (event) yield event;
    }
  }
}

/** An event; without data it says a position alone. Null for a comment. */
function eventOf(block) {
  const event = { type: "message", id: "", data: "" };
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = line.match(/^(\w+): ?(.*)$/) ?? [];
    if (name === "event") event.type = value;
    else if (name === "id") event.id = value;
    else if (name === "data") event.data += event.data ? `\n${value}` : value;
  }
  return event.data || event.id ? { ...event, data: JSON.parse(event.data || "null") } : null;
}

/** Send something and hear what happens, until it ended. Raises Problem, also for `error`. */
export async function* conversation(path, body, { headers, signal } = {}) {
  const accept = { Accept: "text/event-stream", ...headers };
  const response = await send("POST", path, { body, headers: accept, signal });
  if (!response.ok) throw await problemOf(response);
  for await (const event of eventsOf(response)) {
    if (event.type === "error") throw new Problem(event.data.status ?? 500, event.data.detail ?? "");
    yield event.data;
  }
}

/**
 * Follow a stream for as long as it is wanted, through the worker that holds it for all tabs (news.js).
 * `onState` hears "live", "reconnecting", "missing" (no such route) or "refused". Returns the end.
 */
export function follow(path, query, { onEvent, onState }) {
  // The fragment is not sent: it keeps who signed in apart from whoever signs in next.
  const href = `${address(path, query)}#${encodeURIComponent(viewer.user)}`;
  if (!globalThis.SharedWorker) return follows(href, onEvent, onState);
  let port;
  const begin = () => {
    ({ port } = new SharedWorker(new URL("news.js", import.meta.url), { type: "module" }));
    port.onmessage = ({ data }) => (data.event ? onEvent(data.event) : onState(data.state));
    port.postMessage(href);
  };
  const end = () => (port.postMessage(""), port.close());
  const back = ({ persisted }) => persisted && begin(); // The browser kept the page, for a way back to it.
  begin();
  addEventListener("pagehide", end);
  addEventListener("pageshow", back);
  return () => (removeEventListener("pagehide", end), removeEventListener("pageshow", back), end());
}

/** The same from here: after a tear it resumes behind the last event. */
export function follows(href, onEvent, onState) {
  const ended = new AbortController();
  const unlessEnded = (hear) => (value) => ended.signal.aborted || hear(value);
  connections(href, unlessEnded(onEvent), unlessEnded(onState), ended.signal);
  return () => ended.abort();
}

async function connections(href, onEvent, onState, signal) {
  let [last, wait] = ["", FIRST_WAIT_MS];
  while (!signal.aborted) {
    const state = await inTurn(() => connection(href, last, signal, onState, (event) => {
      [last, wait] = [event.id || last, FIRST_WAIT_MS];
      if (event.data) onEvent(event);
    }));
    if (state === "in turn") continue;
    onState(state);
    if (state !== "reconnecting") return;
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

const waiting = [];
let streams = 0;

async function inTurn(connect) {
  if (streams++ >= MOST_STREAMS) await new Promise((resolve) => waiting.push(resolve));
  try {
    return await connect();
  } finally {
    streams -= 1;
    waiting.shift()?.();
  }
}

/** One connection, from its beginning to its end; what that end means. */
async function connection(href, last, signal, onState, onEvent) {
  if (signal.aborted) return "reconnecting";
  const torn = new AbortController();
  const tear = () => torn.abort("torn");
  const turn = setInterval(() => waiting.length && torn.abort("in turn"), TURN_MS);
  signal.addEventListener("abort", tear);
  let silence = setTimeout(tear, SILENCE_MS);
  try {
    const headers = { Accept: "text/event-stream", ...(last && { "Last-Event-ID": last }) };
    const response = await fetch(href, { headers, signal: torn.signal });
    if ([401, 403, 404].includes(response.status)) return response.status === 404 ? "missing" : "refused";
    if (!response.ok) return "reconnecting";
    onState("live");
    const onChunk = () => {
      clearTimeout(silence);
      silence = setTimeout(tear, SILENCE_MS);
    };
    for await (const event of eventsOf(response, onChunk)) onEvent(event);
  } catch {
    // A torn stream and a server that restarts look alike: both are tried again.
    if (torn.signal.reason === "in turn") return "in turn";
  } finally {
    clearTimeout(silence);
    clearInterval(turn);
    signal.removeEventListener("abort", tear);
    tear();
  }
  return "reconnecting";
}
