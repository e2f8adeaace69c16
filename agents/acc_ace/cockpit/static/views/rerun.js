/** The answer of a turn again: of another model, or without a rule. Any two of the replies are compared. */

import { html, useState } from "../lib/preact.js";
import { post } from "../lib/api.js";
import { useData } from "../lib/data.js";
import { TextDiff } from "../lib/diff.js";
import { duration, number, tokensOf, usd } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { Act, Choice, Failure, isMissingRoute, Notice } from "../lib/ui.js";

const NOT_WHOLE =
  "This turn cannot be re-run: its request is not stored whole, or contains earlier messages, files or tool results.";

export function Rerun({ path }) {
  const { data, error } = useData(path);
  const [runs, setRuns] = useState([]);
  const [pair, setPair] = useState([0, 0]);
  const [model, setModel] = useState("");
  const [without, setWithout] = useState([]);
  if (isMissingRoute(error) || !(data || error)) return null;
  if (error) return error.status === 404 ? html`<p class="muted small">${t(NOT_WHOLE)}</p>` : html`<${Failure} error=${error} />`;
  const replies = [data.before, ...runs];
  const run = async () => {
    const reply = await post(path, { model, without });
    setRuns([...runs, { ...reply, without }]);
    setPair([pair[0], replies.length]);
  };
  const toggle = (id) => setWithout(without.includes(id) ? without.filter((each) => each !== id) : [...without, id]);
  const field = { value: model, onInput: ({ target }) => setModel(target.value) };
  const names = data.models.map((name) => html`<option value=${name}>${name}</option>`);
  const options = replies.map((_, at) => [at, at ? t("Re-run {n}", { n: at }) : t("The turn")]);
  return html`
    <section class="rerun">
      <h2>${t("Re-run the answer")}</h2>
      <p class="muted small">${t("The same request is sent again. No tool runs, and nothing is stored.")}</p>
      <div class="row">
        <label class="row small">${t("Model")}${data.any_model
          ? html`<input list="rerun-models" maxlength="128" placeholder=${data.before.model} ...${field} />`
          : html`<select ...${field}>${names}</select>`}</label>
        <datalist id="rerun-models">${names}</datalist>
        <${Act} action=${run}>${t("Re-run")}</${Act}>
      </div>
      ${Object.keys(data.rules).length > 0 && html`
        <fieldset><legend class="small">${t("Leave out")}</legend>
          ${Object.entries(data.rules).map(([id, text]) => html`
            <p class="small" key=${id}><label>
              <input type="checkbox" checked=${without.includes(id)} onChange=${() => toggle(id)} />
              ${" "}[${id}] ${text}</label></p>`)}
        </fieldset>`}
      <div class=${runs.length ? "halves" : ""} hidden=${!runs.length}>${[0, 1].map((at) => html`
        <div key=${at}>
          <${Choice} label=${at ? t("Shown on the right") : t("Shown on the left")} options=${options}
            current=${pair[at]} onPick=${(to) => setPair(at ? [pair[0], to] : [to, pair[1]])} />
          <div aria-live=${at ? "polite" : "off"}>
            <${Reply} ...${replies[pair[at]]} before=${replies[pair[0]].answer} /></div>
        </div>`)}
      </div>
    </section>
  `;
}

function Reply({ model, note, answer, calls, before = answer, without = [], tokens, usd: cost, seconds, ...more }) {
  const { still_in: stillIn = [], warnings = [] } = more;
  const facts = tokens ? [duration(seconds * 1_000), `${number(tokensOf(tokens))} ${t("tokens")}`, usd(cost)] : [];
  const told = without.map((id) => t("without {rule}", { rule: `[${id}]` }));
  return html`
    <p class="muted small">${[model, note, ...told, ...facts].filter(Boolean).join(" · ")}</p>
    <div class="md"><p><${TextDiff} before=${before} after=${answer} /></p></div>
    ${calls.map(({ name, args }) => html`
      <p class="small">${t("Wants to call:")} <code>${name}(${args})</code></p>`)}
    ${stillIn.length > 0 && html`<${Notice} kind="warn">
      ${t("The rule's words are still in: {kinds}", { kinds: stillIn.map((kind) => t(kind)).join(t(", ")) })}</${Notice}>`}
    ${warnings.map((warning) => html`<${Notice} kind="warn">${warning}</${Notice}>`)}
  `;
}
