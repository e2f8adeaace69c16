/** The Compressed Cognitive State: its nine fields at a version, what changed, and its journal. */

import { html, useState } from "../lib/preact.js";
import { call, post } from "../lib/api.js";
import { pageAround, useData, usePages } from "../lib/data.js";
import { number, when } from "../lib/format.js";
import { List, TextDiff } from "../lib/diff.js";
import { t } from "../lib/i18n.js";
import { Act, Button, Empty, Loaded, More, Raw, Scrubber, Tag, TextEditor } from "../lib/ui.js";

const FIELDS = {
  semantic_gist: "What it is about",
  episodic_trace: "What happened",
  goal_orientation: "Goal",
  constraints: "Rules",
  focal_entities: "Entities",
  relational_map: "Relations",
  predictive_cue: "What comes next",
  uncertainty_signal: "Uncertainties",
  retrieved_artifacts: "Recalled",
};
/** Rules are changed under their own tab, references by recall alone. */
const NOT_EDITED = ["constraints", "retrieved_artifacts"];

export function State({ base, head, turn, last, turns, reload }) {
  const newest = head.data?.version ?? 0;
  const ofTurn = turns.items.find((each) => each.turn === turn)?.ccs_version;
  const [picked, setPicked] = useState({ turn: 0, version: 0 });
  const usual = turn === last || !ofTurn ? newest : ofTurn;
  const version = picked.turn === turn ? Math.min(picked.version, newest) : usual;
  const entry = useData(version ? `${base}/ccs/versions/${version}` : null);
  if (!newest) return html`<${Empty}>${t("No state yet.")}</${Empty}>`;
  const shown = entry.data;
  return html`
    <${Scrubber} label=${t("Version")} min=${1} max=${newest} value=${version}
      text=${t("version {version} of {newest}", { version, newest })}
      onChange=${(next) => setPicked({ turn, version: next })} />
    <div class="row muted small">
      ${shown && html`
        <span>${t("turn {turn}", { turn: shown.turn })}</span><${Tag}>${t(shown.kind)}</${Tag}>
        <time>${when(shown.created_at)}</time>${shown.why_asked && ` ${t("model asked")}: ${t(shown.why_asked)}`}
        ${version === newest && html`<span>${number(head.data.tokens)} ${t("tokens")}</span>`}
      `}
      <span class="grow"></span>
      <${Raw} path=${`${base}/ccs/versions/${version}`} />
    </div>
    <${Loaded} of=${entry}>${() => html`
      <dl class="fields">
        ${Object.entries(FIELDS).map(([name, title]) => html`
          <${Field} key=${`${name}/${version}`} name=${name} title=${title} value=${shown.ccs[name]}
            change=${shown.diff.changes.find((each) => each.field === name)}
            base=${base} reload=${reload} version=${version}
            isEditable=${version === newest && !NOT_EDITED.includes(name)} />
        `)}
      </dl>
      ${shown.diff.repairs.length > 0 && html`<${Repairs} repairs=${shown.diff.repairs} />`}
      ${shown.warnings.map((text) => html`<p class="warning small">${text}</p>`)}
    `}</${Loaded}>
    <${Journal} key=${newest} base=${base} newest=${newest} version=${version} reload=${reload}
                onPick=${(next) => setPicked({ turn, version: next })} />
  `;
}

function Field({ name, title, value, change, base, version, isEditable, reload }) {
  const [isOpen, setOpen] = useState(false);
  return html`
    <div class=${`field ${change ? "changed" : ""}`}>
      <dt>
        <span>${t(title)}</span><code>${name}</code><span class="grow"></span>
        ${isEditable && !isOpen &&
        html`<${Button} kind="quiet" onClick=${() => setOpen(true)}
               aria-label=${t("Edit {field}", { field: t(title) })}>${t("Edit")}</${Button}>`}
      </dt>
      <dd>
        ${isOpen
          ? html`<${Editor} name=${name} value=${value} base=${base} version=${version}
                            reload=${reload} onClose=${() => setOpen(false)} />`
          : html`<${Value} value=${value} change=${change} />`}
      </dd>
    </div>
  `;
}

function Value({ value, change }) {
  if (!change && !value?.length) return html`<span class="muted">–</span>`;
  if (Array.isArray(value)) return html`<${List} before=${change?.before} after=${value} />`;
  return change ? html`<${TextDiff} before=${change.before} after=${value} />` : value;
}

/** A list is edited as lines. The edit is a new version, by the user. */
function Editor({ name, value, base, version, reload, onClose }) {
  const isList = Array.isArray(value);
  const save = async (text) => {
    const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
    const body = { version, fields: { [name]: isList ? lines : text } };
    await call("PATCH", `${base}/ccs`, { body });
    onClose();
    reload();
  };
  return html`<${TextEditor} text=${isList ? value.join("\n") : (value ?? "")} label=${name} save=${save}
                onClose=${onClose} hint=${isList && t("One item per line.")} />`;
}

const Repairs = ({ repairs }) => html`
  <details>
    <summary>${t("Repairs of the gate")} <span class="count">${repairs.length}</span></summary>
    <ul class="items small">
      ${repairs.map(({ field, reason, detail }) => html`
        <li><code>${field}</code> ${reason}${detail && html`: <span class="muted">${detail}</span>`}</li>
      `)}
    </ul>
  </details>
`;

function Journal({ base, newest, version, reload, onPick }) {
  const journal = usePages(`${base}/ccs/history`, { limit: 20, before: pageAround(version, newest, 20) });
  const restore = (to) => post(`${base}/rollback`, { version: to }).then(reload);
  return html`
    <h2>${t("Journal")}</h2>
    <table class="list compact">
      <tbody>
        ${journal.items.map((entry) => html`
          <tr key=${entry.version} aria-current=${entry.version === version ? "true" : undefined}>
            <td class="num">
              <button type="button" class="link" onClick=${() => onPick(entry.version)}
                aria-label=${t("version {version} of {newest}", { version: entry.version, newest })}>
                ${entry.version}
              </button>
            </td>
            <td class="nowrap">${t("turn {turn}", { turn: entry.turn })} <${Tag}>${t(entry.kind)}</${Tag}></td>
            <td class="clip muted">${entry.diff.changes.map(({ field }) => t(FIELDS[field])).join(", ")}</td>
            <td class="nowrap muted">${when(entry.created_at)}</td>
            <td>${entry.version !== newest &&
              html`<${Act} kind="quiet" action=${() => restore(entry.version)}
                sure=${t("Restore version {version} as a new version?", entry)}>${t("Restore")}</${Act}>`}</td>
          </tr>
        `)}
      </tbody>
    </table>
    <${More} more=${journal.more} />
  `;
}
