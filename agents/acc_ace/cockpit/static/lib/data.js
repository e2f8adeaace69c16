/** Data of the server as hooks of components. */

import { useCallback, useEffect, useRef, useState } from "./preact.js";
import { follow, get, whose } from "./api.js";

/**
 * What a GET answers: {asked, data, error, isLoading, reload}. Earlier data stays while the same thing is
 * read again. A path of null asks for nothing.
 */
export function useData(path, query = {}) {
  const asked = JSON.stringify([path, { ...whose, ...query }]);
  const [state, setState] = useState({ asked: "", data: undefined, error: undefined });
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (path === null) return undefined;
    const ended = new AbortController();
    get(path, query, ended.signal).then(
      (data) => setState({ asked, data, error: undefined }),
      (error) => {
        if (ended.signal.aborted) return;
        setState((old) => ({ asked, data: old.asked === asked ? old.data : undefined, error }));
      },
    );
    return () => ended.abort();
  }, [asked, round]);
  const reload = useCallback(() => setRound((old) => old + 1), []);
  const { data, error } = state.asked === asked ? state : {};
  return { asked, data, error, isLoading: path !== null && state.asked !== asked, reload };
}

/** Before what a page of `size` begins that holds number `n`: null for the newest page. */
export const pageAround = (n, newest, size) =>
  !n || n > newest - size / 2 ? null : (Math.floor((2 * n) / size) + 2) * (size / 2);

const idOf = ({ id, seq, session, version, turn }) => id ?? seq ?? session ?? version ?? turn;

/** Pages of a list that grow on demand: {items, error, isLoading, more, reload}. */
export function usePages(path, query = {}, names = {}) {
  const { next = "next_before", key = "before", items: list = "items" } = names;
  const first = useData(path, query);
  const [pages, setPages] = useState({ asked: "", items: [], next: null });
  const newest = first.data?.[list] ?? [];
  const hasMore = pages.asked === first.asked;
  const known = new Set(newest.map(idOf));
  // What was shown stays when the first page is read again, and what is new stands before it.
  const items = hasMore ? [...newest, ...pages.items.filter((item) => !known.has(idOf(item)))] : newest;
  const cursor = hasMore ? pages.next : first.data?.[next];
  const more = async () => {
    const page = await get(path, { ...query, [key]: cursor });
    setPages({ asked: first.asked, items: [...items, ...page[list]], next: page[next] });
  };
  return { ...first, items, more: cursor ? more : null };
}

/** Follow a stream while the component is shown; the state of the connection. */
export function useStream(path, query, onEvent) {
  const [state, setState] = useState("connecting");
  const heard = useRef(onEvent);
  heard.current = onEvent;
  useEffect(() => {
    if (path === null) return undefined;
    return follow(path, query, {
      onEvent: (event) => heard.current(event),
      onState: setState,
    });
  }, [JSON.stringify([path, query, whose])]);
  return state;
}

/** Run an action of a person: {run, isBusy, error, dismiss}. A second click waits for the first. */
export function useAction(action) {
  const [state, setState] = useState({ isBusy: false, error: undefined });
  const isRunning = useRef(false);
  const run = async (...values) => {
    if (isRunning.current) return undefined;
    isRunning.current = true;
    setState({ isBusy: true, error: undefined });
    let error;
    try {
      return await action(...values);
    } catch (caught) {
      error = caught;
      return undefined;
    } finally {
      isRunning.current = false;
      setState({ isBusy: false, error });
    }
  };
  return { ...state, run, dismiss: () => setState({ isBusy: false, error: undefined }) };
}
