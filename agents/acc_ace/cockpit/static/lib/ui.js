/** The small parts that every view is made of. Texts of others are text nodes, always. */

import { html, useState } from "./preact.js";
import { address } from "./api.js";
import { useAction } from "./data.js";
import { t } from "./i18n.js";

export const Button = ({ kind = "", busy = false, children, ...rest }) => html`
  <button type="button" class=${`button ${kind}`} aria-busy=${busy} disabled=${busy} ...${rest}>
    ${children}
  </button>
`;

export const Tag = ({ kind = "", title, children }) =>
  html`<span class=${`tag ${kind}`} title=${title}>${children}</span>`;

export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

export const Loading = () => html`<p class="empty" role="status">${t("Loading …")}</p>`;

export const Notice = ({ kind = "info", children, onClose }) => html`
  <div class=${`notice ${kind}`} role=${kind === "bad" ? "alert" : "status"}>
    <div>${children}</div>
    ${onClose && html`<${Button} kind="quiet" onClick=${onClose}>${t("Close")}</${Button}>`}
  </div>
`;

/** Why something is not there, and what to do about it. */
export function Failure({ error, reload, onClose }) {
  if (!error) return null;
  return html`
    <${Notice} kind=${isMissingRoute(error) ? "info" : "bad"} onClose=${onClose}>
      ${explanation(error)}${" "}
      ${error.status === 401 && html`<a href="./">${t("Sign in")}</a>`}
      ${reload && html`<${Button} kind="quiet" onClick=${reload}>${t("Try again")}</${Button}>`}
    </${Notice}>
  `;
}

/** Whether the server does not know the route, as an older or smaller one does not. */
export const isMissingRoute = (error) =>
  [404, 405].includes(error?.status) && /^(Not Found|Method Not Allowed)$/.test(error.message);

function explanation(error) {
  if (error.status === 0) return t("The server does not answer.");
  if (error.status === 401) return t("You are signed out.");
  if (isMissingRoute(error)) return t("This server does not offer this part.");
  return error.message || t("Something went wrong.");
}

/** A button that changes something: it asks `sure`, waits for the server, and shows what went wrong. */
export function Act({ action, sure, children, ...rest }) {
  const { run, isBusy, error, dismiss } = useAction(action);
  return html`
    <${Button} ...${rest} busy=${isBusy} onClick=${() => (!sure || confirm(sure)) && run()}>${children}</${Button}>
    <${Failure} error=${error} onClose=${dismiss} />
  `;
}

/** What there is of data, by a function of it, or why it is not there. */
export const Loaded = ({ of: { data, error, isLoading, reload }, children }) => html`
  <${Failure} error=${error} reload=${reload} />
  ${isLoading && html`<${Loading} />`}
  ${data !== undefined && children(data)}
`;

/** A text to change; `save` gets it. Escape leaves it as it was. */
export function TextEditor({ text, label, hint, save, onClose }) {
  const [current, setCurrent] = useState(text);
  return html`
    <textarea rows="4" aria-label=${label} value=${current}
      onInput=${(event) => setCurrent(event.target.value)}
      onKeyDown=${(event) => event.key === "Escape" && onClose()} />
    <div class="row">
      <${Act} kind="primary" action=${() => save(current)}>${t("Save")}</${Act}>
      <${Button} onClick=${onClose}>${t("Cancel")}</${Button}>
      <span class="muted small">${hint}</span>
    </div>
  `;
}

/** Figures: `items` is [[name, value]]. */
export const Stats = ({ items }) => html`
  <dl class="stats">
    ${items.map(([name, value]) => html`<div key=${name}><dt>${t(name)}</dt><dd>${value}</dd></div>`)}
  </dl>
`;

/** One of a few: `options` is [[id, what is shown]]. */
export const Choice = ({ label, options, current, onPick }) => html`
  <div class="switch" role="group" aria-label=${label}>
    ${options.map(([id, shown]) => html`
      <button key=${id} type="button" aria-pressed=${String(id === current)} onClick=${() => onPick(id)}>
        ${shown}
      </button>
    `)}
  </div>
`;

/** A link to the raw answer of the server that a view shows. */
export const Raw = ({ path, query }) => html`
  <a class="raw" href=${address(path, query)} target="_blank" rel="noopener"
     title=${t("Raw JSON of this view")}>JSON</a>
`;

export const Search = ({ value, onInput, label }) => html`
  <input type="search" class="search" data-search value=${value} placeholder=${label}
         aria-label=${label} onInput=${(event) => onInput(event.target.value)} />
`;

export const More = ({ more }) =>
  more && html`<p class="more"><${Act} action=${more}>${t("More")}</${Act}></p>`;

/** Tabs as links, so that each has an address; arrow keys go along them. */
export function Tabs({ label, tabs, current }) {
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const links = [...event.currentTarget.querySelectorAll("a")];
    const to = links[(links.indexOf(document.activeElement) + step + links.length) % links.length];
    to.focus();
    to.click();
    event.preventDefault();
  };
  return html`
    <div class="tabs" role="tablist" aria-label=${label} onKeyDown=${move}>
      ${tabs.map(({ id, title, href, count, className = "" }) => html`
        <a key=${id} role="tab" href=${href} class=${className} aria-selected=${String(id === current)}
           tabindex=${id === current ? 0 : -1}>
          ${title}${count > 0 && html`<span class="count">${count}</span>`}
        </a>
      `)}
    </div>
  `;
}

/** A stepped position: buttons and a range that arrow keys move. */
export function Scrubber({ label, min, max, value, onChange, text }) {
  const to = (next) => next >= min && next <= max && onChange(next);
  return html`
    <div class="scrubber">
      <${Button} kind="quiet" aria-label=${t("Back")} onClick=${() => to(value - 1)}
                 disabled=${value <= min}>‹</${Button}>
      <input type="range" min=${min} max=${max} value=${value} aria-label=${label}
             aria-valuetext=${text} onInput=${(event) => to(Number(event.target.value))} />
      <${Button} kind="quiet" aria-label=${t("Forward")} onClick=${() => to(value + 1)}
                 disabled=${value >= max}>›</${Button}>
      <output>${text}</output>
    </div>
  `;
}
