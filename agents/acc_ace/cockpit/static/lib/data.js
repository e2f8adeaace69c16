/** Data of the server as hooks of components. */

import { useCallback, useEffect, useRef, useState } from "./preact.js";
import { follow, get, whose } from "./api.js";

/**
 * What a GET answers: {data, error, isLoading, reload}. Earlier data stays while the same thing is
 * read again. A path of null asks for nothing.
 */
export function useData(path, query = {}) {
  const asked = JSON.stringify([path, query, whose]);
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
  const isCurrent = state.asked === asked;
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: path !== null && !isCurrent,
    reload,
  };
}

/** Pages of a list that grow on demand: {items, error, isLoading, more, reload}. */
export function usePages(path, query = {}, names = {}) {
  const { next = "next_before", key = "before", items: list = "items" } = names;
  const first = useData(path, query);
  const [rest, setRest] = useState({ of: undefined, items: [], next: undefined });
  const isOurs = rest.of === first.data && first.data !== undefined;
  const cursor = isOurs ? rest.next : first.data?.[next];
  const items = [...(first.data?.[list] ?? []), ...(isOurs ? rest.items : [])];
  const more = async () => {
    const page = await get(path, { ...query, [key]: cursor });
    setRest({
      of: first.data,
      items: [...(isOurs ? rest.items : []), ...page[list]],
      next: page[next],
    });
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
