// How long each stage took, from the header Server-Timing (W3C Server Timing): "decode;dur=12.3, detect;dur=45.6".

import { element, find, show } from "./elements.js";

/** Milliseconds by stage, in the order of the header. */
export function parseTimes(header) {
  const parts = (header ?? "").split(",").map((part) => part.trim().match(/^([\w-]+)\s*;.*?dur=([\d.]+)/));
  return Object.fromEntries(parts.filter(Boolean).map(([, stage, milliseconds]) => [stage, Number(milliseconds)]));
}

export function showTimes(times) {
  const stages = Object.entries(times ?? {});
  const most = Math.max(...stages.map(([, milliseconds]) => milliseconds));
  find("times").querySelector("tbody").replaceChildren(...stages.map(([stage, ms]) => row(stage, ms, ms / most)));
  show(find("times"), stages.length > 0);
}

function row(stage, milliseconds, share) {
  const bar = element("span", { class: "share" });
  bar.style.inlineSize = `${100 * (share || 0)}%`;
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, stage),
    element("td", {}, `${milliseconds.toFixed(1)} ms`),
    element("td", { "aria-hidden": "true" }, bar),
  );
}
