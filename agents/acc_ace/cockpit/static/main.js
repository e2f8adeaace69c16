/** The shell: navigation, whose data is shown, keys, and the view of the route. */

import { html, render, useErrorBoundary, useState } from "./lib/preact.js";
import { viewer as signedIn, whose } from "./lib/api.js";
import { useData } from "./lib/data.js";
import { t } from "./lib/i18n.js";
import { applyPrefs, nextLang, nextTheme, usePrefs } from "./lib/prefs.js";
import { go, href, OWN_APP, useKeys, useRoute } from "./lib/router.js";
import { Button, Failure, Notice } from "./lib/ui.js";
import Demo from "./views/demo.js";
import Playbook from "./views/playbook.js";
import Session from "./views/session.js";
import Sessions from "./views/sessions.js";
import Start, { Answering } from "./views/start.js";
import Survivor from "./views/survivor.js";
import Users from "./views/users.js";

const VIEWS = { start: Start, sessions: Sessions, session: Session, playbook: Playbook, survivor: Survivor, demo: Demo, users: Users };
const MENU = { sessions: "Sessions", playbook: "Playbook", survivor: "Survivor", demo: "Demo", users: "Users" };
/** What of the menu is not for everybody: which part of `me` says that it is there. */
const SOMETIMES = { demo: "plays_demo", users: "operates" };

const KEYS = [
  ["/", "Search"],
  ["j  k", "Next and previous turn"],
  ["1 – 6", "Tabs of a session"],
  ["← →", "Scrubber and tabs"],
  ["Enter", "Send the turn"],
  ["?", "This list"],
];

function App() {
  const { theme, lang } = usePrefs();
  const route = useRoute();
  const [isHelpOpen, setHelpOpen] = useState(false);
  const isSession = ["session", "demo"].includes(route.name) && route.parts.length > 1;
  const app = (isSession ? route.parts[0] : route.query.app) || OWN_APP;
  const viewer = useData("ui/me", { app: "", user: "" });
  const me = viewer.data;
  const asked = isSession ? route.parts[1] : route.query.user;
  const user = me?.signed_in ? me.user : asked || me?.user || "";
  whose.app = app;
  // With a token the token decides; to name another user would be refused.
  whose.user = me?.signed_in ? "" : user;
  signedIn.user = me?.signed_in ? me.user : "";

  useKeys((event) => {
    if (event.key === "?") setHelpOpen(true);
    else if (event.key === "/") document.querySelector("[data-search]")?.focus();
    else return;
    event.preventDefault();
  });

  const query = { app: app === OWN_APP ? "" : app, user: me?.signed_in ? "" : (asked ?? "") };
  const isForeign = me?.signed_in && asked && asked !== me.user;
  return html`
    <a class="skip" href="#main" onClick=${toMain}>${t("Skip to the content")}</a>
    <header class="bar">
      <a class="brand" href=${href(["start"], query)}>ACC<b>×</b>ACE</a>
      <nav aria-label=${t("Main")}>
        ${Object.entries(MENU).filter(([name]) => !SOMETIMES[name] || me?.[SOMETIMES[name]] || route.name === name).map(([name, title]) => html`
          <a key=${name} href=${href([name], query)}
             aria-current=${isCurrent(route.name, name) ? "page" : undefined}>${t(title)}</a>
        `)}
      </nav>
      <${Whose} app=${app} user=${user} me=${me} route=${route} />
      <${Button} kind="quiet" onClick=${nextLang} lang=${lang === "en" ? "ja" : "en"}>
        ${lang === "en" ? "日本語" : "English"}
      </${Button}>
      <${Button} kind="quiet" onClick=${nextTheme} title=${t("Colours")}>
        ${t({ auto: "Auto", light: "Light", dark: "Dark" }[theme])}
      </${Button}>
      <${Button} kind="quiet" aria-label=${t("Keys")} onClick=${() => setHelpOpen(true)}>?</${Button}>
    </header>
    <main id="main" tabindex="-1">
      <${Failure} error=${viewer.error} reload=${viewer.reload} />
      ${isForeign && html`<${Notice} kind="bad">${t("This link belongs to another user.")}</${Notice}>`}
      ${me && !isForeign &&
      html`<${View} key=${`${route.name}/${app}/${user}`} view=${VIEWS[route.name] ?? Sessions}
                    route=${route} app=${app} user=${user} me=${me} />`}
    </main>
    <${Answering} app=${app} />
    ${isHelpOpen && html`<${Help} onClose=${() => setHelpOpen(false)} />`}
  `;
}

const toMain = (event) => (event.preventDefault(), document.getElementById("main").focus());

const isCurrent = (shown, name) => shown === name || (shown === "session" && name === "sessions");

/** The app and, without tokens, the user whose memory is shown. Any name can be typed. */
function Whose({ app, user, me, route }) {
  const known = [useData("v1/apps"), useData("list-apps")].flatMap(({ data }) => data ?? []);
  const names = [...new Set([OWN_APP, app, ...known])];
  const name = route.name === "session" ? "sessions" : route.name;
  const choose = (changed) => go([name], { app, user: me?.signed_in ? "" : user, ...changed });
  return html`
    <div class="whose">
      <label>${t("App")}
        <input list="apps" value=${app} onChange=${(event) => choose({ app: event.target.value })} />
      </label>
      <datalist id="apps">${names.map((each) => html`<option value=${each} />`)}</datalist>
      ${me && (me.signed_in
        ? html`<span class="muted">${me.user}</span>`
        : html`<label>${t("User")}
            <input value=${user} onChange=${(event) => choose({ user: event.target.value })} />
          </label>`)}
    </div>
  `;
}

/** A view that fails says so, and leaves the rest of the page as it is. */
function View({ view, ...props }) {
  const [broken, repair] = useErrorBoundary((error) => console.error(error));
  if (!broken) return html`<${view} ...${props} />`;
  return html`<${Notice} kind="bad" onClose=${repair}>
    ${t("This view failed:")} ${String(broken.message)}
  </${Notice}>`;
}

const Help = ({ onClose }) => html`
  <dialog ref=${(dialog) => dialog?.open || dialog?.showModal()} class="dialog" onClose=${onClose}
          aria-label=${t("Keys")}>
    <h2>${t("Keys")}</h2>
    <dl class="keys">
      ${KEYS.map(([key, text]) => html`<dt><kbd>${key}</kbd></dt><dd>${t(text)}</dd>`)}
    </dl>
    <form method="dialog" class="row end"><button class="button">${t("Close")}</button></form>
  </dialog>
`;

await applyPrefs();
render(html`<${App} />`, document.getElementById("app"));
