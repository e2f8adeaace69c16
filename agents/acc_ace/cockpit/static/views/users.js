/** The users and apps of this server, for its operators: names and counts, nothing of what was said. */

import { html, useState } from "../lib/preact.js";
import { usePages } from "../lib/data.js";
import { number, when } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { href } from "../lib/router.js";
import { Empty, Loaded, More, Raw, Search } from "../lib/ui.js";

export default function Users({ me }) {
  const [words, setWords] = useState("");
  const list = usePages("ui/users", { words }, { key: "before", next: "next_before" });
  return html`
    <div class="page">
      <div class="head"><h1>${t("Users")}</h1>
        <${Search} value=${words} onInput=${setWords} label=${t("Search users and apps")} />
        <span class="grow"></span><${Raw} path="ui/users" query=${{ words }} /></div>
      <${Loaded} of=${list}>${() => html`
        <table class="list">
          <thead><tr><th>${t("User")}</th><th>${t("App")}</th><th class="num">${t("Sessions")}</th><th>${t("Last active")}</th></tr></thead>
          <tbody>${list.items.map(({ id, app, user, sessions, active_at: at }) => html`
            <tr key=${id}>
              <td>${me.signed_in && me.user !== user ? user : html`<a href=${href(["sessions"], { app, user })}>${user}</a>`}</td>
              <td>${app}</td><td class="num">${number(sessions)}</td><td class="nowrap muted">${when(at)}</td>
            </tr>`)}</tbody>
        </table>
        ${!list.items.length && html`<${Empty}>${t("Nothing matches the search.")}</${Empty}>`}
      `}</${Loaded}>
      <${More} more=${list.more} />
    </div>
  `;
}
