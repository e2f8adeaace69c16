/** Preact, its hooks, and templates by htm: what every component is made with. */

import htm from "../vendor/htm.js";
import { h } from "../vendor/preact.js";

export * from "../vendor/hooks.js";
export { render } from "../vendor/preact.js";
export const html = htm.bind(h);
