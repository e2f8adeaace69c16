/** What a person may change while the loop runs, and what calls for their attention. */

import { html, useState } from "../lib/preact.js";
import { post } from "../lib/api.js";
import { decimal } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { Button, Failure, Notice } from "../lib/ui.js";

const ALERTS = {
  lethal_risk: "Lethal risk near",
  rule_violation: "A rule was about to be broken",
  emergency_stop: "Emergency stop",
  threshold: "Danger above the threshold",
};
const RANGES = [
  ["danger_threshold", "Danger threshold", 0.2, 0.9],
  ["exploration", "Exploration", 0, 1],
];

export const AlertBanner = ({ alerts }) => alerts.map(({ kind, text }) => html`
  <${Notice} kind=${kind === "threshold" ? "warn" : "bad"}>
    <b>${t(ALERTS[kind] ?? kind)}</b> ${text}
  </${Notice}>
`);

/** Tell a person who is looking elsewhere, where they have allowed it. */
export function notify(alerts = []) {
  if (window.Notification?.permission !== "granted") return;
  for (const { kind, text } of alerts) {
    new Notification(t(ALERTS[kind] ?? kind), { body: text, tag: kind });
  }
}

export function Controls({ settings }) {
  const [error, setError] = useState(null);
  const send = (path, body) => post(path, body).then(() => (setError(null), settings.reload()), setError);
  const set = (body) => send("survivor/settings", body);
  const now = settings.data;
  if (!now) return html`<${Failure} error=${settings.error} reload=${settings.reload} />`;
  const notifyMe = async (isWanted) => {
    if (isWanted) await window.Notification?.requestPermission();
    await set({ notifications: isWanted });
  };
  return html`
    <div class="controls card" role="group" aria-label=${t("Controls")}>
      <div class="row">
        <${Button} kind="primary" onClick=${() => set({ paused: !now.paused })}>
          ${now.paused ? t("Resume") : t("Pause")}
        </${Button}>
        <${Button} disabled=${!now.paused} onClick=${() => send("survivor/step")}>${t("One tick")}</${Button}>
      </div>
      ${RANGES.map(([name, title, min, max]) => html`
        <label class="row small">${t(title)}
          <input type="range" name=${name} min=${min} max=${max} step="0.05" value=${now[name]}
                 onChange=${(event) => set({ [name]: Number(event.target.value) })} />
          <output>${decimal(now[name])}</output></label>
      `)}
      <label class="row small">${t("Log detail")}
        <select name="log_detail" value=${now.log_detail}
                onChange=${(event) => set({ log_detail: event.target.value })}>
          <option value="brief">${t("brief")}</option><option value="full">${t("full")}</option>
        </select></label>
      <label class="row small"><input type="checkbox" name="notifications"
        checked=${now.notifications && window.Notification?.permission === "granted"}
        onChange=${(event) => notifyMe(event.target.checked)} />
        ${t("Notifications")}</label>
      <${Failure} error=${error} onClose=${() => setError(null)} />
    </div>
  `;
}
