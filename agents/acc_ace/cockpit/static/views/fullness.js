/** How full the last request was of what its model reads, and the state of its budget. */

import { html } from "../lib/preact.js";
import { number } from "../lib/format.js";
import { t } from "../lib/i18n.js";

export const Fullness = ({ state, request, budget }) => html`
  <div class="fullness small muted" role="group" aria-label=${t("Context")}>
    <${Bar} label=${t("Last request")} value=${request?.tokens} most=${request?.window}
            unknown=${!request?.model.startsWith("embedded/") && t("limit unknown")} model=${request?.model} />
    <${Bar} label=${t("State")} value=${state?.tokens} most=${budget} />
  </div>
`;

const Bar = ({ label, value, most, unknown, model }) => html`
  <span class="nowrap">${label} <b>${number(value)}</b>${most ? ` / ${number(most)}` : ""} ${t("tokens")}
    ${value && !most && unknown && ` (${unknown})`}</span>
  ${value > 0 && most && html`<meter min="0" max=${most} value=${value} aria-label=${label}></meter>`}
  ${model && html`<code>${model}</code>`}
`;
