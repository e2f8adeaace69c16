import { html } from "../vendor/preact.js";
export const Saw = () => html`<p></p>`;
