import { html } from "../vendor/preact.js";
export const Recall = () => html`<p></p>`;
