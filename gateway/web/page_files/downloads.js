// A button for each format that the service offers.

import { element, find } from "./elements.js";

const SUFFIXES = {
  json: ".json",
  ndjson: ".ndjson",
  text: ".txt",
  markdown: ".md",
  tsv: ".tsv",
  hocr: ".hocr",
  alto: ".alto.xml",
  page: ".page.xml",
  pdf: ".ocr.pdf",
  png: ".ocr.png",
};

export function showFormats(formats, onFormat) {
  const buttons = formats.map((format) => {
    const button = element("button", { type: "button", title: format.description, value: format.name }, format.name);
    button.addEventListener("click", () => onFormat(format));
    return element("li", {}, button);
  });
  find("downloads").querySelector("ul").replaceChildren(...buttons);
}

/** A name beside which the file that was read keeps its own. */
export function nameFor(file, { name }) {
  return `${file.name.replace(/\.[^.]*$/, "") || "picture"}${SUFFIXES[name] ?? `.${name}`}`;
}

export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // the browser may still be asking where to put it
}
