// The page's picture with a quad for every unit over it.

import { drawn, find, show } from "./elements.js";
import { written } from "./units.js";

const SIZES = [0.5, 1, 1.5, 2, 3, 4];
const NEAR_TOP = 0.15; // of the picture; there the tip stands below its quad

/** Calls `onPoint(index)` or `onPoint(null)` as the pointer moves, and `onPick(index)` on a click. */
export function createPicture({ onPoint, onPick }) {
  const [view, sheet, image, quads, tip] = ["view", "sheet", "picture", "quads", "tip"].map(find);
  let units = [];
  let size = SIZES.indexOf(1);

  const indexOf = (event) => [...quads.children].indexOf(event.target);
  quads.addEventListener("pointerover", (event) => onPoint(indexOf(event) < 0 ? null : indexOf(event)));
  quads.addEventListener("pointerleave", () => onPoint(null));
  quads.addEventListener("click", (event) => indexOf(event) >= 0 && onPick(indexOf(event)));
  find("smaller").addEventListener("click", () => resize(size - 1));
  find("larger").addEventListener("click", () => resize(size + 1));
  image.addEventListener("load", () => {
    if (!quads.hasAttribute("viewBox")) setShape(image.naturalWidth, image.naturalHeight);
  });

  function resize(next) {
    size = Math.min(Math.max(next, 0), SIZES.length - 1);
    sheet.style.setProperty("--zoom", SIZES[size]);
    find("zoom").value = `${100 * SIZES[size]} %`;
    find("smaller").disabled = size === 0;
    find("larger").disabled = size === SIZES.length - 1;
  }

  function setShape(width, height) {
    sheet.style.setProperty("--width", width);
    sheet.style.setProperty("--height", height);
  }

  function showPicture(address, name) {
    image.src = address;
    image.alt = name;
    show(image, true);
  }

  /** Quads in pixels of the upright page, whatever size the picture is drawn at. */
  function showUnits(page, lines, level) {
    setShape(page.width, page.height);
    sheet.dataset.paper = page.image.paper ?? "white";
    quads.setAttribute("viewBox", `0 0 ${page.width} ${page.height}`);
    units = lines.flat();
    quads.dataset.level = level;
    quads.replaceChildren(...units.map((unit) => drawn("polygon", { points: unit.quad.join(" "), class: unit.kind })));
  }

  function clear() {
    units = [];
    image.removeAttribute("src");
    show(image, false);
    quads.replaceChildren();
    quads.removeAttribute("viewBox");
    show(tip, false);
  }

  function highlight(index) {
    quads.querySelector(".pointed")?.classList.remove("pointed");
    const unit = units[index];
    quads.children[index]?.classList.add("pointed");
    show(tip, unit !== undefined);
    if (unit) placeTip(unit);
  }

  function placeTip(unit) {
    const { left, right, top, bottom } = shares(unit.quad, quads.viewBox.baseVal);
    const middle = (left + right) / 2;
    const below = top < NEAR_TOP;
    tip.textContent = `${unit.text ?? "(not read)"}  ${written(unit.score)}`;
    tip.style.left = `${100 * middle}%`;
    tip.style.top = `${100 * (below ? bottom : top)}%`;
    tip.style.translate = `${-100 * middle}% ${below ? "0.5rem" : "calc(-100% - 0.5rem)"}`;
  }

  /** Bring a unit into the window of a picture that is larger. */
  function reveal(index) {
    const unit = units[index];
    if (!unit) return;
    const { left, right, top, bottom } = shares(unit.quad, quads.viewBox.baseVal);
    const [width, height] = [sheet.clientWidth, sheet.clientHeight];
    if (top * height < view.scrollTop || bottom * height > view.scrollTop + view.clientHeight) {
      view.scrollTop = ((top + bottom) / 2) * height - view.clientHeight / 2;
    }
    if (left * width < view.scrollLeft || right * width > view.scrollLeft + view.clientWidth) {
      view.scrollLeft = ((left + right) / 2) * width - view.clientWidth / 2;
    }
  }

  resize(size);
  return { show: showPicture, showUnits, clear, highlight, reveal };
}

/** Where a quad is, in shares of the picture. */
function shares(quad, { width, height }) {
  const [xs, ys] = [quad.map(([x]) => x / width), quad.map(([, y]) => y / height)];
  const inside = (value) => Math.min(Math.max(value, 0), 1);
  return {
    left: inside(Math.min(...xs)),
    right: inside(Math.max(...xs)),
    top: inside(Math.min(...ys)),
    bottom: inside(Math.max(...ys)),
  };
}
