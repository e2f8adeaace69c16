/** Hash routes: `#/name/part/part?key=value`. Each view has a link of its own. */

import { useEffect, useState } from "./preact.js";

export function parse(hash = location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decode);
  return { name: parts[0] ?? "sessions", parts: parts.slice(1), query: queryOf(query) };
}

const queryOf = (text) => Object.fromEntries(new URLSearchParams(text));

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

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

export function useRoute() {
  const [route, setRoute] = useState(parse);
  useEffect(() => {
    const changed = () => setRoute(parse());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
