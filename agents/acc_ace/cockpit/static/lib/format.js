/** How numbers, money and times look. */

import { prefs } from "./prefs.js";

export const number = (value) =>
  value === null || value === undefined ? "–" : value.toLocaleString(prefs.lang);

export const decimal = (value, digits = 2) =>
  value === null || value === undefined ? "–" : value.toFixed(digits);

/** US dollars, with as many digits as a small amount needs; null is an unknown price. */
export function usd(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "$0";
  if (value < 0.0001) return "< $0.0001";
  return `$${value >= 1 ? value.toFixed(2) : value.toPrecision(2)}`;
}

export const money = (amount) =>
  amount ? `${usd(amount.usd)}${amount.complete || amount.usd === null ? "" : " +"}` : "–";

export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

export const when = (iso) =>
  iso ? new Date(iso).toLocaleString(prefs.lang, { dateStyle: "medium", timeStyle: "short" }) : "";

/** The value of a JSON text, or `otherwise`. */
export function parseJson(text, otherwise = null) {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}

export const tokensOf = (use) => (use ? (use.in ?? 0) + (use.out ?? 0) + (use.thinking ?? 0) : 0);
