/** A session: its chat beside its memory, at a turn. */

import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { call, post } from "../lib/api.js";
import { pageAround, useData, usePages, useStream } from "../lib/data.js";
import { t } from "../lib/i18n.js";
import { share } from "../lib/share.js";
import { go, href, replace, useKeys } from "../lib/router.js";
import { Act, Failure, Raw, Tabs, Tag } from "../lib/ui.js";
import { Chat } from "./chat.js";
import { Find } from "./find.js";
import { Fullness } from "./fullness.js";
import { Cost } from "./cost.js";
import { Recall } from "./recall.js";
import { Rules } from "./rules.js";
import { Saw } from "./saw.js";
import { State } from "./state.js";

const PANELS = { saw: Saw, state: State, rules: Rules, recall: Recall, cost: Cost, find: Find };
const TITLES = {
  chat: "Chat", saw: "What the model saw", state: "State", rules: "Rules", recall: "Recall", cost: "Cost",
  find: "Search",
};
/** Where the stylesheet shows one of chat and memory at a time. */
const NARROW = "(max-width: 960px)";
const SOON_MS = 150;
const LOOK_MS = 30_000;
const PAGE = 50;

/** The selected turn and tab of a route: `session/<app>/<user>/<session>/turn/<n>/<tab>`. */
function placeOf({ name, parts }) {
  const [app, user, session, , turn, tab] = parts;
  return { name, app, user, session, turn: Number(turn) || 0, tab: TITLES[tab] ? tab : matchMedia(NARROW).matches ? "chat" : "state" };
}

const placed = ({ name, app, user, session, turn, tab }) => [name, app, user, session, "turn", String(turn), tab];

export default function Session({ route }) {
  const place = placeOf(route);
  const base = `v1/sessions/${encodeURIComponent(place.session)}`;
  const overview = useData(`ui/sessions/${encodeURIComponent(place.session)}`);
  const head = { ...overview, data: overview.data?.state ?? undefined };
  const [before, setBefore] = useState(null);
  const ask = { limit: PAGE, before };
  const turns = usePages(head.data ? `${base}/turns` : null, ask, { next: "next_cursor", key: "cursor" });
  const rules = useData(`${base}/rules`);
  const reload = () => [head, turns, rules].forEach((each) => each.reload());
  const stream = useReloads(head.data ? place.session : null, reload);
  const isAbsent = head.error?.status === 404 || overview.data?.state === null;
  useDeparture(place, head, isAbsent);
  const last = Math.max(head.data?.turn ?? 0, turns.items[0]?.turn ?? 0);
  const turn = place.turn || last;
  useTurnKeys(place, turn, last);
  // A turn that is not among those shown is read with its neighbours.
  const isShown = !turns.items.length || turns.items.some((each) => each.turn === turn);
  useEffect(() => isShown || setBefore(pageAround(turn, last, PAGE)), [isShown, turn]);

  const undo = () => post(`${base}/undo`, undefined, { query: { turn: head.data.turn } }).then(reload);
  const Panel = PANELS[place.tab] ?? State;
  const isNew = isAbsent && !place.turn;
  const shared = { base, turn, last, head, turns, rules, reload, isNew, place, route };
  return html`
    <div class="session" data-tab=${place.tab}>
      <div class="head">
        <a href=${href(["sessions"], { app: place.app, user: place.user })}>${t("Sessions")}</a>
        <h1 class="mono">${place.session}</h1>
        <${Tag}>${t("turn {turn} of {last}", { turn, last })}</${Tag}>
        ${last > PAGE && html`<input type="number" class="jump" min="1" max=${last} value=${turn}
          aria-label=${t("Go to turn")} title=${t("Go to turn")} onChange=${({ target }) =>
            target.checkValidity() && target.value && go(placed({ ...place, turn: target.value }))} />`}
        <${Connection} state=${stream} />
        <span class="grow"></span>
        <${Raw} path=${`${base}/ccs`} />
        <${Act} kind="quiet" disabled=${!head.data} action=${() => share(base, place, rules.data?.constraints ?? [])}>
          ${t("Save as HTML")}</${Act}>
        <${Act} kind="quiet" disabled=${!head.data?.turn} action=${undo}>${t("Undo the last turn")}</${Act}>
        <${Delete} base=${base} place=${place} disabled=${isNew} />
      </div>
      ${!isNew && html`<${Failure} error=${head.error} reload=${reload} />`}
      <${Fullness} ...${overview.data} />
      <div class="split">
        <${Chat} ...${shared} isNewest=${before === null} onPick=${(n) => go(placed({ ...place, turn: n }))} />
        <section class="memory" aria-label=${t("Memory")}>
          <${Tabs} label=${t("Memory")} current=${place.tab}
            tabs=${Object.entries(TITLES).map(([id, title]) => ({
              id,
              title: t(title),
              className: id === "chat" ? "narrow" : "",
              count: id === "rules" ? rules.data?.constraints.length : 0,
              href: href(placed({ ...place, turn, tab: id })),
            }))} />
          <div class="panel" role="tabpanel"><${Panel} key=${place.tab} ...${shared} /></div>
        </section>
      </div>
    </div>
  `;
}

/** Read everything again when the server says that the session went on, and once when it begins to say so. */
function useReloads(session, reload) {
  const timer = useRef(0);
  const soon = () => { clearTimeout(timer.current); timer.current = setTimeout(reload, SOON_MS); };
  // The news of all the user's sessions: tabs on different ones share that stream.
  const state = useStream(session && "sse/timeline", {}, ({ type, data }) =>
    (type !== "session" || data.session === session) && soon());
  useEffect(() => { if (state === "live") reload(); }, [state]);
  return state;
}

/** Back to the list when a session that was there is there no longer. */
function useDeparture(place, head, isAbsent) {
  const wasThere = useRef("");
  useEffect(() => { // The stream says so only of the newest session.
    const timer = setInterval(() => document.hidden || head.reload(), LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    if (head.data) wasThere.current = place.session;
    if (!isAbsent || wasThere.current !== place.session) return;
    replace(["sessions"], { app: place.app, user: place.user, gone: place.session });
  }, [head.data, isAbsent]);
}

/** j and k go along the turns, digits along the tabs. */
function useTurnKeys(place, turn, last) {
  useKeys(({ key }) => {
    const next = turn + ({ j: 1, k: -1 }[key] ?? 0);
    const shown = [...document.querySelectorAll(".memory > .tabs a")].filter((tab) => tab.offsetParent);
    if (next !== turn && next >= 1 && next <= last) go(placed({ ...place, turn: next }));
    else shown[Number(key) - 1]?.click();
  });
}

const STREAMS = { live: "good", reconnecting: "warn", refused: "bad" };

/** How the stream of news is; nothing where a server has none. */
export const Connection = ({ state }) =>
  STREAMS[state] && html`<${Tag} kind=${STREAMS[state]}>${t(state)}</${Tag}>`;

function Delete({ base, place, disabled }) {
  const erase = () => call("DELETE", base).then(() => go(["sessions"], { app: place.app, user: place.user }));
  return html`<${Act} kind="quiet danger" disabled=${disabled} action=${erase}
    sure=${t("Delete the session with all its memory? This cannot be undone.")}>${t("Delete")}</${Act}>`;
}
