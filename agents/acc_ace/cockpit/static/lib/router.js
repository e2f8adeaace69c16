/** Hash routes: `#/name/part/part?key=value`. Each view has a link of its own. */

import { useEffect, useLayoutEffect, useState } from "./preact.js";

/** The app whose turns this server takes. */
export const OWN_APP = "acc_ace";

export function parse(hash = location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  // Unlike decodeURIComponent, this reads any address.
  const decode = (part) => queryOf(`part=${part.replace(/[+&]/g, encodeURIComponent)}`).part;
  const parts = path.split("/").filter(Boolean).map(decode);
  return { name: parts[0] ?? "sessions", parts: parts.slice(1), query: queryOf(query) };
}

const queryOf = (text) => Object.fromEntries(new URLSearchParams(text));

export function href(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`;
}

export const go = (parts, query) => (location.hash = href(parts, query));

/** Go there without a step of the browser's history. */
export function replace(parts, query) {
  history.replaceState(null, "", href(parts, query));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Run `pressed` on the keys that are pressed beside fields and without a modifier. */
export function useKeys(pressed) {
  // With the drawing, not after it: a key never meets what was shown before.
  useLayoutEffect(() => {
    const heard = (event) => {
      const isTyping = event.target.matches?.("input:not([type=range]), textarea, select");
      if (!isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) pressed(event);
    };
    addEventListener("keydown", heard);
    return () => removeEventListener("keydown", heard);
  });
}

export function useRoute() {
  const [route, setRoute] = useState(parse);
  useEffect(() => {
    const changed = () => setRoute(parse());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
