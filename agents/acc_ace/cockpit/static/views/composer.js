/** A turn as it runs: the composer that sends it, its stages, its answer, what it waits for. */

import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { conversation, post } from "../lib/api.js";
import { duration, number, tokensOf } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { Act, Button, Failure, Notice, Tag } from "../lib/ui.js";
import { Markdown } from "../lib/markdown.js";

/** The name under which ADK asks a person whether a tool may run. */
export const CONFIRMATION = "adk_request_confirmation";

const newKey = () => `ui-${crypto.getRandomValues(new Uint32Array(3)).join("-")}`;

const begun = (input, attachments, key = newKey()) => ({
  input, attachments, key, phase: "running", text: "", note: "", report: null, error: null,
  stages: [], tools: [], calls: [],
});

/** What an event of a running turn changes of what is shown of it. */
const CHANGES = {
  stage_started: ({ stages }, { stage }) => ({ stages: [...stages, { stage }] }),
  stage_finished: ({ stages }, event) => ({ stages: withLast(stages, "stage", event) }),
  tool_started: ({ tools }, event) => ({ tools: [...tools, event] }),
  tool_finished: ({ tools }, event) => ({ tools: withLast(tools, "name", { ...event, isDone: true }) }),
  answer_chunk: ({ text }, event) => ({ text: text + event.text }),
  answer: (_turn, { text, note }) => ({ text, note }),
  turn_done: (_turn, { report }) => ({ phase: "done", report, text: report.answer }),
  turn_paused: (_turn, { calls }) => ({ phase: "paused", calls }),
};

/** The newest item of that name, changed. */
function withLast(items, name, change) {
  const at = items.findLastIndex((item) => item[name] === change[name]);
  return items.map((item, index) => (index === at ? { ...item, ...change } : item));
}

/** The turn that this page runs: {state, send, again, answer}. */
export function useTurn(base, place, reload) {
  const [state, setState] = useState(null);
  const run = async (turn) => {
    setState(turn);
    const headers = { "Idempotency-Key": turn.key };
    try {
      for await (const event of conversation(`${base}/turns`, { input: turn.input, attachments: turn.attachments }, { headers })) {
        setState((old) => ({ ...old, ...CHANGES[event.type]?.(old, event) }));
      }
      const error = { status: -1, message: t("The stream ended before the turn did.") };
      setState((old) => (old.phase === "running" ? { ...old, phase: "failed", error } : old));
    } catch (error) {
      setState((old) => ({ ...old, phase: "failed", error }));
    }
    reload();
  };
  const answer = async (call, confirmed) => {
    const functionResponse = { id: call.id, name: call.name, response: { confirmed } };
    await post("run", {
      appName: place.app, userId: place.user, sessionId: place.session,
      newMessage: { role: "user", parts: [{ functionResponse }] },
    });
    setState(null);
    reload();
  };
  const send = (input, attachments = []) => run(begun(input, attachments));
  // Under the same key what was committed is reported, not run again.
  const again = () => run(begun(state.input, state.attachments, state.key));
  return { state, send, again, answer };
}

/** As many attachments as the server takes with a turn. */
const MOST_FILES = 32;

export function Composer({ running }) {
  const box = useRef();
  const [files, setFiles] = useState([]);
  const [fault, setFault] = useState("");
  const isBusy = running.state?.phase === "running";
  const send = () => {
    const input = box.current.value.trim();
    if (!input || isBusy) return;
    running.send(input, files);
    box.current.value = "";
    setFiles([]);
  };
  const attach = async ({ target }) => {
    const read = await Promise.all([...target.files].map(async (file) => ({ source: file.name, text: await file.text() })));
    target.value = ""; // The same file can be chosen again.
    const texts = read.filter(({ text }) => text.trim() && !text.includes("\0"));
    setFault(read.filter((each) => !texts.includes(each)).map(({ source }) => source).join(", "));
    setFiles([...files, ...texts].slice(0, MOST_FILES));
  };
  const pressed = (event) => {
    if (event.key !== "Enter" || event.isComposing || event.shiftKey) return;
    event.preventDefault();
    send();
  };
  return html`
    ${fault && html`<${Notice} kind="bad" onClose=${() => setFault("")}>
      ${t("Not attached: {files}. Only files with text can be attached.", { files: fault })}</${Notice}>`}
    ${files.length > 0 && html`<ul class="chips">${files.map((file) => html`<li key=${file.source}>${file.source}
      <${Button} kind="quiet" aria-label=${t("Remove {file}", { file: file.source })}
        onClick=${() => setFiles(files.filter((each) => each !== file))}>×</${Button}></li>`)}</ul>`}
    <form class="composer" onSubmit=${(event) => (event.preventDefault(), send())}>
      <label class="button quiet" title=${t("Attach text files")}><span aria-hidden="true">+</span>
        <input class="hidden" type="file" multiple aria-label=${t("Attach text files")} onChange=${attach} /></label>
      <textarea ref=${box} rows="2" aria-label=${t("Message")} onKeyDown=${pressed}
                placeholder=${t("Write a message. Enter sends it; Shift+Enter starts a new line.")} />
      <button class="button primary" disabled=${isBusy} aria-busy=${isBusy}>${t("Send")}</button>
    </form>
  `;
}

/** What was said to the agent, as it was typed. */
export const Said = ({ text, authority, attachments }) => html`
  <div class="said"><span class="who">${authority === "user" ? t("You") : t(authority)}</span>${text}
    ${attachments.length > 0 && html`<div>${attachments.map((source) => html`<${Tag}>${source || t("attachment")}</${Tag}> `)}</div>`}
  </div>
`;

export function RunningTurn({ state, again, answer }) {
  return html`
    <article class="turn running">
      <span class="no">…</span>
      <${Said} text=${state.input} authority="user" attachments=${state.attachments.map(({ source }) => source)} />
      <${Stages} stages=${state.stages} />
      ${state.tools.map((tool) => html`
        <div class="tool mono small">${tool.name}(${JSON.stringify(tool.args)})
          ${" "}${tool.isDone ? (tool.is_error ? "✗" : "✓") : "…"}</div>
      `)}
      ${state.text && html`<div class="answer"><${Markdown} text=${state.text} /></div>`}
      ${state.note && html`<p class="muted small">${state.note}</p>`}
      <${Failure} error=${state.error} reload=${again} />
    </article>
    ${state.phase === "paused" && html`<${Calls} calls=${state.calls} answer=${answer} />`}
  `;
}

const Stages = ({ stages }) => html`
  <ol class="stages" aria-label=${t("Stages")}>
    ${stages.map(({ stage, ms, tokens }) => html`
      <li class=${ms === undefined ? "now" : ""}>
        ${t(stage)}
        ${ms === undefined ? html`<${Waiting} />` : html`<small>
          ${duration(ms)}${tokensOf(tokens) ? ` · ${number(tokensOf(tokens))} ${t("tokens")}` : ""}
        </small>`}
      </li>
    `)}
  </ol>
`;

/** The seconds that a stage has run so far. */
function Waiting() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((passed) => passed + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  return seconds > 0 && html`<small aria-hidden="true">${seconds} s</small>`;
}

/** Calls that wait for a person: approved or refused here. */
export const Calls = ({ calls, answer }) => calls.map((call) => html`
  <${Notice} key=${call.id} kind="ask">
    <p><b>${question(call)}</b></p>
    <pre>${JSON.stringify(call.args.originalFunctionCall?.args ?? call.args, null, 1)}</pre>
    ${call.name === CONFIRMATION && answer
      ? html`<div class="row">
          <${Act} kind="primary" action=${() => answer(call, true)}>${t("Approve")}</${Act}>
          <${Act} action=${() => answer(call, false)}>${t("Refuse")}</${Act}>
        </div>`
      : html`<p class="muted">${answer ? t("This call needs more than a yes or no. Answer it in your client.")
          : t("Answer this in the program that runs the agent.")}</p>`}
  </${Notice}>
`);

const question = ({ name, args }) =>
  args.toolConfirmation?.hint || t("Run {tool}?", { tool: args.originalFunctionCall?.name ?? name });
