// The text as a list of lines, each with a button for every unit. One of them is in the tab order; arrow keys move on.

import { element, find } from "./elements.js";
import { written } from "./units.js";

/** Calls `onPoint(index)` or `onPoint(null)` when a unit is pointed at or left, and `onPick(index)` to copy it. */
export function createLines({ onPoint, onPick }) {
  const list = find("lines");
  let buttons = [];
  let current = 0;

  const indexOf = (event) => {
    const button = event.target.closest("button");
    return button ? buttons.indexOf(button) : -1;
  };
  const pointAt = (event) => onPoint(indexOf(event) < 0 ? null : indexOf(event));

  list.addEventListener("pointerover", pointAt);
  list.addEventListener("pointerleave", () => onPoint(null));
  list.addEventListener("focusin", (event) => {
    makeCurrent(indexOf(event));
    pointAt(event);
  });
  list.addEventListener("focusout", () => onPoint(null));
  list.addEventListener("click", (event) => indexOf(event) >= 0 && onPick(indexOf(event)));
  list.addEventListener("keydown", (event) => {
    const next = moved(event.key, buttons, current);
    if (next === undefined) return;
    event.preventDefault();
    buttons[next].focus();
  });

  function makeCurrent(index) {
    if (index < 0) return;
    buttons[current]?.setAttribute("tabindex", "-1");
    buttons[index].setAttribute("tabindex", "0");
    current = index;
  }

  function showUnits(lines, level) {
    list.replaceChildren(...lines.map((units) => itemOf(units, level)));
    list.dataset.level = level;
    buttons = [...list.querySelectorAll("button")];
    current = 0;
    buttons[0]?.setAttribute("tabindex", "0");
  }

  function highlight(index) {
    list.querySelector(".pointed")?.classList.remove("pointed");
    buttons[index]?.classList.add("pointed");
  }

  /** Bring a unit into the list's window, without moving the page. */
  function reveal(index) {
    const item = buttons[index]?.closest("li");
    if (!item || list.scrollHeight <= list.clientHeight) return;
    const above = item.offsetTop - list.scrollTop;
    if (above < 0 || above + item.offsetHeight > list.clientHeight) {
      list.scrollTop = item.offsetTop - list.clientHeight / 3;
    }
  }

  const focus = (index) => buttons[index]?.focus({ preventScroll: true });

  /** The unit that has the focus, or null. */
  function focused() {
    const index = buttons.indexOf(document.activeElement);
    return index < 0 ? null : index;
  }

  return { show: showUnits, highlight, reveal, focus, focused };
}

function itemOf(units, level) {
  const parts = units.flatMap((unit) => (unit.gap ? [" ", buttonOf(unit, level)] : [buttonOf(unit, level)]));
  return element("li", { dir: "auto" }, ...parts);
}

function buttonOf(unit, level) {
  const attributes = { type: "button", class: unit.kind, tabindex: -1, "aria-describedby": "score" };
  const text = element("span", { class: "text", dir: "auto" }, unit.text ?? "(not read)");
  if (level !== "line") return element("button", attributes, text);
  return element("button", attributes, text, element("span", { class: "number", "aria-hidden": "true" }, written(unit.score)));
}

/** Where a key leads: sideways to the next unit, up and down to the next line. */
function moved(key, buttons, current) {
  const item = (button) => button?.parentElement;
  const steps = {
    ArrowRight: current + 1,
    ArrowLeft: current - 1,
    ArrowDown: buttons.indexOf(item(buttons[current])?.nextElementSibling?.querySelector("button")),
    ArrowUp: buttons.indexOf(item(buttons[current])?.previousElementSibling?.querySelector("button")),
    Home: 0,
    End: buttons.length - 1,
  };
  return buttons[steps[key]] ? steps[key] : undefined;
}
