/** A worker for all tabs of a browser: it holds each stream of news once, however many tabs follow it. */

import { follows } from "./api.js";

const streams = new Map(); // By address: who follows it, how it is, and its end.

function begun(href) {
  const stream = { ports: new Set(), state: "connecting" };
  const tell = (message) => stream.ports.forEach((port) => port.postMessage(message));
  const onState = (state) => {
    tell({ state: (stream.state = state) });
    if (["missing", "refused"].includes(state)) end(href, stream); // Whoever asks later tries again.
  };
  stream.end = follows(href, (event) => tell({ event }), onState);
  streams.set(href, stream);
  return stream;
}

function end(href, stream) {
  stream.end();
  if (streams.get(href) === stream) streams.delete(href);
}

/** A tab says the address that it follows, then nothing when it does so no longer. */
addEventListener("connect", ({ ports: [port] }) => {
  let leave = () => {};
  port.onmessage = ({ data: href }) => {
    leave();
    if (!href) return;
    const stream = streams.get(href) ?? begun(href);
    stream.ports.add(port);
    port.postMessage({ state: stream.state });
    leave = () => stream.ports.delete(port) && !stream.ports.size && end(href, stream);
  };
  port.onclose = () => leave(); // A tab that crashed says nothing.
});
