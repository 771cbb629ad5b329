// Turning pages: a list of all that were read, and of those that could not be.

import { element, find, show } from "./elements.js";

export function createPager(onPage) {
  const list = find("page");
  let known = [];
  const at = () => list.selectedIndex;
  list.addEventListener("change", () => onPage(at()));
  find("previous").addEventListener("click", () => onPage(at() - 1));
  find("next").addEventListener("click", () => onPage(at() + 1));

  /** The same entries may come again when there are more of them. Of each file, `name` and `pages` are needed. */
  function showEntries(entries, files) {
    if (entries !== known) list.replaceChildren();
    known = entries;
    list.append(...entries.slice(list.length).map((entry) => element("option", {}, titleOf(entry, files))));
    show(find("pages"), entries.length > 1);
    select(Math.max(0, at()));
  }

  function select(index) {
    list.selectedIndex = index;
    find("previous").disabled = index === 0;
    find("next").disabled = index === list.length - 1;
  }

  return { show: showEntries, select };
}

/** Names of files and numbers of pages, as far as they tell one from another. */
function titleOf({ page, error }, files) {
  const number = page ? page.number : error.page;
  const file = files[(page ?? error).file - 1];
  const name = files.length > 1 || number === null ? [file.name] : [];
  const place = file.pages > 1 && number !== null ? [`page ${number}`] : [];
  return [...name, ...place].join(", ") + (error ? ": not read" : "");
}
