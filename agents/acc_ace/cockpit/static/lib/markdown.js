/** Markdown as nodes, never as HTML: what is no Markdown known here, tags included, stays text. */

import { html } from "./preact.js";

/** Texts in texts, deeper than which nothing is looked for. */
const DEEPEST = 6;
/** A longer line is plain text: to look for marks in it could take long. */
const LONGEST = 2000;
const SAFE = ["http:", "https:", "mailto:"];

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+-]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)#*$/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)]) +(\S.*)$/;
const DASHES = /^ *\|?(?: *:?-+:? *\|)+ *(?::?-+:? *)?$/;

export const Markdown = ({ text }) => html`<div class="md">${blocks(text.split(/\r?\n/), 0)}</div>`;

function blocks(lines, depth) {
  const made = [];
  for (let at = 0; at < lines.length; ) {
    const [node, next] = block(lines, at, depth);
    if (node) made.push(node);
    at = next;
  }
  return made;
}

/** The block that begins at a line, and the line behind it. */
function block(lines, at, depth) {
  const line = lines[at];
  if (!line.trim()) return [null, at + 1];
  if (line.length > LONGEST) return [html`<p>${inline(line)}</p>`, at + 1];
  const fence = line.match(FENCE);
  if (fence) {
    const end = behind(lines, at + 1, (each) => !each.trim().startsWith(fence[1]));
    return [html`<pre tabindex="0"><code>${lines.slice(at + 1, end).join("\n")}</code></pre>`, end + 1];
  }
  const heading = line.match(HEADING);
  if (heading) return [html`<p class="h">${inline(heading[2])}</p>`, at + 1];
  if (RULE.test(line)) return [html`<hr />`, at + 1];
  if (depth < DEEPEST && QUOTE.test(line)) {
    const end = behind(lines, at, (each) => QUOTE.test(each));
    const said = lines.slice(at, end).map((each) => each.replace(QUOTE, ""));
    return [html`<blockquote>${blocks(said, depth + 1)}</blockquote>`, end];
  }
  if (depth < DEEPEST && ITEM.test(line)) return list(lines, at, depth);
  if (line.includes("|") && DASHES.test((lines[at + 1] ?? "").slice(0, LONGEST))) return table(lines, at);
  const end = behind(lines, at + 1, (each) => each.trim() && !begins(each));
  return [html`<p>${inline(lines.slice(at, end).join("\n"))}</p>`, end];
}

const begins = (line) => line.length > LONGEST || [FENCE, HEADING, RULE, QUOTE, ITEM].some((form) => form.test(line));

/** The first line from `at` on that does not hold. */
function behind(lines, at, holds) {
  while (at < lines.length && holds(lines[at])) at += 1;
  return at;
}

/** Items of one indentation; what is indented further is theirs. */
function list(lines, at, depth) {
  const [, indent, mark] = lines[at].match(ITEM);
  const isNumbered = /\d/.test(mark);
  const items = [];
  for (;;) {
    const [, own, sign, text] = lines[at]?.match(ITEM) ?? [];
    if (own?.length !== indent.length || /\d/.test(sign) !== isNumbered) break;
    const deeper = (line) => line.startsWith(`${indent} `) && line.trim();
    const end = behind(lines, at + 1, deeper);
    const inner = lines.slice(at + 1, end).map((line) => line.slice(indent.length + sign.length + 1).trimEnd());
    items.push(html`<li>${blocks([text, ...inner], depth + 1)}</li>`);
    at = lines[end]?.trim() === "" && ITEM.test(lines[end + 1] ?? "") ? end + 1 : end;
  }
  const tag = isNumbered ? "ol" : "ul";
  return [html`<${tag} start=${isNumbered ? parseInt(mark, 10) : undefined}>${items}</${tag}>`, at];
}

function table(lines, at) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => inline(cell.trim()));
  const end = behind(lines, at + 2, (line) => line.includes("|"));
  return [html`<div class="scroll" tabindex="0"><table class="list compact">
    <thead><tr>${cells(lines[at]).map((cell) => html`<th>${cell}</th>`)}</tr></thead>
    <tbody>${lines.slice(at + 2, end).map((line) => html`<tr>${cells(line).map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
  </table></div>`, end];
}

/** Every repetition is bounded, so that a text of marks alone takes no time either. */
const INLINE = new RegExp([
  /\\(?<escaped>[!-/:-@[-`{-~])/,
  /(?<ticks>`{1,4})(?!`)(?<code>[^\n]{1,1000}?)(?<!`)\k<ticks>(?!`)/,
  /!?\[(?<label>[^[\]\n]{0,500})\]\(<?(?<to>[^\s()<>]{1,1000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200})?)>?(?: "[^"\n]{0,200}")?\)/,
  /(?<bare>\b(?:https?:\/\/|mailto:)[^\s<>()"'`、。「」（）]{1,1000}[^\s<>()"'`、。「」（）.,;:!?*_])/,
  /(?<bold>\*\*|__)(?=\S)(?<strong>[^\n]{1,500}?)(?<=\S)\k<bold>/,
  /~~(?=\S)(?<gone>[^\n]{1,500}?)(?<=\S)~~/,
  /(?<![\p{L}\p{N}*_])(?<slant>[*_])(?=[^\s*_])(?<em>[^\n*_]{1,500}?)(?<=\S)\k<slant>(?![\p{L}\p{N}])/,
].map(({ source }) => source).join("|"), "gu");

function inline(text, depth = 0) {
  const nodes = [];
  let at = 0;
  for (const found of depth < DEEPEST ? text.matchAll(INLINE) : []) {
    nodes.push(text.slice(at, found.index), marked(found, depth + 1));
    at = found.index + found[0].length;
  }
  return [...nodes, text.slice(at)];
}

function marked({ 0: whole, groups }, depth) {
  const { escaped, code, label, to, bare, strong, gone, em } = groups;
  if (escaped) return escaped;
  if (code) return html`<code>${code}</code>`;
  if (to) return isSafe(to) ? link(to, label || to) : whole;
  if (bare) return isSafe(bare) ? link(bare, bare) : whole;
  if (strong) return html`<strong>${inline(strong, depth)}</strong>`;
  return gone ? html`<s>${inline(gone, depth)}</s>` : html`<em>${inline(em, depth)}</em>`;
}

/** Nothing is loaded before a person follows it: an image is a link as well. */
const link = (to, label) => html`<a href=${to} target="_blank" rel="noopener noreferrer">${label}</a>`;

const isSafe = (to) => URL.canParse(to) && SAFE.includes(new URL(to).protocol);
