// What the service wants the reader of a page to know.

import { element, find, show } from "./elements.js";

export function showWarnings(warnings) {
  const items = warnings.map(({ code, detail }) => element("li", {}, `${detail} `, element("code", {}, code)));
  find("warnings").querySelector("ul").replaceChildren(...items);
  show(find("warnings"), items.length > 0);
}
