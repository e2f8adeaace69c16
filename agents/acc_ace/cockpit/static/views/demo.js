import { html } from "../vendor/preact.js";
export default () => html`<p></p>`;
