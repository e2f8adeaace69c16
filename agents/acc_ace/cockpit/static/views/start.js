/** The first screen: what this is, three ways on, and first messages to click. */

import { html, useState } from "../lib/preact.js";
import { useData } from "../lib/data.js";
import { t } from "../lib/i18n.js";
import { go, href, OWN_APP } from "../lib/router.js";
import { Button, Tag } from "../lib/ui.js";

/** A rule, a fact, and the two questions that show what became of them. */
const EXAMPLES = [
  "Never restart db-01 during business hours.",
  "Aiko is on call this week.",
  "Who is on call?",
  "May I restart db-01 now?",
];

/** How many of them make sense as a first message. */
const FIRST = 2;

const WAYS = [
  ["An ADK agent: add the plugin to its app",
    "from acc_ace import BoundedMemoryPlugin\n\napp = App(name=\"desk\", root_agent=root_agent, plugins=[BoundedMemoryPlugin()])"],
  ["Any other agent: add this MCP server to its client", "acc-ace mcp --session my-project"],
  ["A coding agent: install the hook in your project", "acc-ace hook install claude-code"],
];

/** The message that a new session is to begin with. A link cannot set it: it would speak for the user. */
export const opening = { session: "", text: "" };

const newName = () => `s-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;

/** Open a new session, and say something there at once. */
export function talk(app, user, text = "") {
  Object.assign(opening, { session: newName(), text });
  go(["session", app, user, opening.session]);
}

export default function Start({ app, user, me, note }) {
  const [shown, setShown] = useState("");
  const toggle = (name) => setShown(shown === name ? "" : name);
  return html`
    <div class="page start">
      <h1>${t("Your agent keeps your rules, however long you talk.")}</h1>
      <p>${t("ACC×ACE gives an agent a memory of fixed size. It keeps your rules word for word, checks them before a tool runs, and learns from its mistakes.")}</p>
      <div class="row">
        ${me.plays_demo
          ? html`<a class="button" href=${href(["demo"])}>${t("Play the demo")}</a>`
          : html`<${Button} aria-expanded=${String(shown === "demo")} onClick=${() => toggle("demo")}>
              ${t("Play the demo")}</${Button}>`}
        <${Button} kind="primary" onClick=${() => talk(app, user)}>${t("Talk")}</${Button}>
        <${Button} aria-expanded=${String(shown === "connect")} onClick=${() => toggle("connect")}>
          ${t("Connect your agent")}</${Button}>
      </div>
      ${shown === "demo" && html`<${Copied} title=${t("Run this in a terminal. It plays 50 turns in a separate memory and needs no key.")}
        text="acc-ace demo" />`}
      ${shown === "connect" && WAYS.map(([title, text]) => html`<${Copied} title=${t(title)} text=${text} />`)}
      <${Examples} texts=${EXAMPLES.slice(0, FIRST)} say=${(text) => talk(app, user, text)} />
      ${note && html`<p class="muted small">${note}</p>`}
    </div>
  `;
}

/** Messages to click, but for those that were said already. */
export const Examples = ({ say, said = [], texts = EXAMPLES }) => html`
  <h2>${t("Try it: click a message to send it")}</h2>
  <ul class="examples">
    ${texts.map((text) => t(text)).filter((text) => !said.includes(text)).map((text) => html`
      <li key=${text}><button type="button" class="card" onClick=${() => say(text)}>${text}</button></li>
    `)}
  </ul>
`;

function Copied({ title, text }) {
  const [done, setDone] = useState("");
  const copy = () => navigator.clipboard.writeText(text).then(
    () => setDone(t("Copied")), () => setDone(t("Select the text and copy it.")));
  return html`
    <section class="way">
      <div class="row"><span class="grow">${title}</span>
        ${navigator.clipboard && html`<${Button} kind="quiet" onClick=${copy} aria-label=${t("Copy {text}", { text })}>
          ${t("Copy")}</${Button}>`}
        <span class="small muted" role="status">${done}</span></div>
      <pre tabindex="0">${text}</pre>
    </section>
  `;
}

/** What a kind of model can do. */
const CAN = {
  embedded: "keeps rules and quotes what was said; it does not reason",
  gemini: "a language model; it can be wrong",
  "openai-compatible": "a language model; it can be wrong",
  "claude-cli": "a language model; it can be wrong",
  litellm: "a language model; it can be wrong",
};

/** Which model answers, and what it can do: below every page. */
export function Answering({ app }) {
  const models = useData("v1/models").data ?? [];
  const model = models.find(({ agent }) => agent === "generator");
  if (app !== OWN_APP) return html`<footer class="answering">${t("{app} answers with its own model.", { app })}</footer>`;
  return model && html`
    <footer class="answering"><b>${model.model}</b> ${t(CAN[model.kind])}
      ${model.kind !== "embedded" && html` <${Tag}>${model.note}</${Tag}>`}</footer>
  `;
}
