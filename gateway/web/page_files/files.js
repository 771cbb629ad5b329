// Files come from the chooser, by drag and drop, or from the clipboard.

import { find } from "./elements.js";

/** Calls `onFiles(files)` with one or more. */
export function listenForFiles(onFiles) {
  const chooser = find("files");
  const given = (list) => list?.length && onFiles([...list]);

  chooser.addEventListener("change", () => {
    given(chooser.files);
    chooser.value = ""; // so that the same file may be chosen again
  });
  document.addEventListener("paste", (event) => given(event.clipboardData?.files));
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    document.body.classList.add("dragging");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("dragging");
  });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dragging");
    given(event.dataTransfer?.files);
  });
}
