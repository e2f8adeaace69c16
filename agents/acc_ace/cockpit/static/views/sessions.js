/** The sessions of a user in an app. */

import { html, useMemo, useState } from "../lib/preact.js";
import { usePages, useStream } from "../lib/data.js";
import { when } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { href } from "../lib/router.js";
import { Button, Empty, Loaded, More, Notice, Raw, Search } from "../lib/ui.js";
import Start, { talk } from "./start.js";

const PATH = "v1/sessions";
const PAGE = { limit: 100 };

export default function Sessions({ route, app, user, me }) {
  const list = usePages(PATH, PAGE);
  const { items, more, reload } = list;
  useStream("sse/timeline", {}, reload);
  const [words, setWords] = useState("");
  const found = useMemo(() => items.filter((item) => holds(item, words)), [items, words]);
  if (list.data && !items.length && !route.query.gone) {
    return html`<${Start} ...${{ app, user, me }} note=${
      `${t("No sessions of {user} in {app} yet.", { app, user })} ${t("You can choose another app or user above. Conversations from adk run belong to test_user.")}`} />`;
  }
  return html`
    <div class="page">
      <div class="head">
        <h1>${t("Sessions")}</h1>
        <${Search} value=${words} onInput=${setWords} label=${t("Search sessions")} />
        <span class="grow"></span>
        <${Raw} path=${PATH} />
        <${Button} kind="primary" onClick=${() => talk(app, user)}>
          ${t("New session")}
        </${Button}>
      </div>
      ${route.query.gone &&
      html`<${Notice}>${t("The session {session} is gone: it was deleted.", {
        session: route.query.gone,
      })}</${Notice}>`}
      <${Loaded} of=${list}>${() => html`
        <table class="list">
          <thead><tr>
            <th>${t("Session")}</th><th>${t("What it is about")}</th>
            <th class="num">${t("Turns")}</th><th>${t("Changed")}</th>
          </tr></thead>
          <tbody>
            ${found.map(({ session, gist, turn, updated_at: changed }) => html`
              <tr key=${session}>
                <td><a href=${href(["session", app, user, session])}>${session}</a></td>
                <td class="clip">${gist}</td>
                <td class="num">${turn}</td>
                <td class="nowrap muted">${when(changed)}</td>
              </tr>
            `)}
          </tbody>
        </table>
        ${!found.length && html`<${Empty}>${t("Nothing matches the search.")}</${Empty}>`}
      `}</${Loaded}>
      <${More} more=${more} />
    </div>
  `;
}

const holds = ({ session, gist }, words) =>
  `${session}\n${gist}`.toLowerCase().includes(words.toLowerCase().trim());
