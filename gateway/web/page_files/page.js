// The page: puts its parts together, and knows what is being read and which page is shown.

import { copy } from "./clipboard.js";
import { curlLine } from "./curl.js";
import { nameFor, save, showFormats } from "./downloads.js";
import { find, show } from "./elements.js";
import { listenForFiles } from "./files.js";
import { createLines } from "./lines.js";
import { createOptions } from "./options.js";
import { createPager } from "./pager.js";
import { createPicture } from "./picture.js";
import { createPictures } from "./pictures.js";
import { asProblem, hideProblem, problemOfPage, showProblem } from "./problem.js";
import { progress, say } from "./progress.js";
import { addressOf, capabilities, hasKey, isDrawable, read, useKey, written } from "./service.js";
import { showTimes } from "./times.js";
import { covers, unitsOf } from "./units.js";
import { showWarnings } from "./warnings.js";

const options = createOptions();
const pictures = createPictures();
const pager = createPager(turnTo);
const picture = createPicture({ onPoint: (index) => point(index, lines), onPick: pick });
const lines = createLines({ onPoint: (index) => point(index, picture), onPick: pick });

let files = [];
/** What the last reading brought: entries are pages and failures, in order. */
let answer = nothing("line");
let shown = 0;
let units = [];
let wanted = null; // the picture that should be seen, as a promise of its address
let work = new AbortController();
/** What is done again by the buttons for that. */
let lastWork = introduce;

// Beginning

async function introduce() {
  try {
    const service = await capabilities();
    find("about").textContent = `${service.model_set}, version ${service.version}`;
    find("limits").textContent = limitsOf(service);
    options.describe(service.options);
    showFormats(service.formats, download);
    hideProblem();
  } catch (error) {
    showProblem(asProblem(error), { retry: introduce });
  }
}

function limitsOf({ inputs, limits }) {
  const megabytes = Math.floor(limits.max_body_bytes / 1e6);
  return `${inputs.join(", ")}. Up to ${limits.max_files} files, ${megabytes} MB together. The service keeps no file.`;
}

// Reading

function take(chosen) {
  files = chosen;
  shown = 0;
  answer = nothing(options.level());
  pictures.clear();
  clearPage();
  showTimes({});
  find("again").disabled = false;
  show(find("result"), false);
  readAll();
}

/** The answer before stays until the page that is shown has come anew. */
async function readAll() {
  const started = performance.now();
  const next = nothing(options.level());
  await during(readAll, `Reading ${nameOf(files)} …`, async (signal) => {
    if (!answer.entries.length) showFirstPicture();
    for await (const event of read(files, requestOptions(), signal)) {
      note(next, event);
      if (answer !== next && next.entries.length > shown) begin(next);
    }
    if (answer !== next) begin(next);
    showNotes();
    showTimes(next.times);
    say(summaryOf(next, (performance.now() - started) / 1000));
  });
}

function nothing(level) {
  return { level, files: [], entries: [], warnings: [], times: {}, total: 0 };
}

/** Work that can be stopped and done again, one at a time; what goes wrong in it is shown. */
async function during(again, message, act) {
  work.abort();
  work = new AbortController();
  const { signal } = work;
  lastWork = again;
  hideProblem();
  progress(message);
  showCommand();
  try {
    await act(signal);
  } catch (error) {
    if (work.signal !== signal) return;
    say(signal.aborted ? "Stopped." : "");
    if (!signal.aborted) showProblem(asProblem(error), { retry: again });
  } finally {
    if (work.signal === signal) progress(null);
  }
}

/** Take in one event. */
function note(next, { event, ...rest }) {
  if (event === "start") Object.assign(next, { total: rest.total, files: rest.files.map(named) });
  if (event === "end") Object.assign(next, { warnings: rest.warnings, times: rest.stages_ms });
  if (event !== "page" && event !== "error") return;
  next.entries.push(rest);
  const done = next.entries.length;
  if (next.total > 1) progress(`Read ${done} of ${next.total} pages …`, done / next.total);
  if (answer === next) pager.show(next.entries, next.files);
}

/** From here on, this is what is shown. */
function begin(next) {
  answer = next;
  pager.show(next.entries, next.files);
  turnTo(Math.min(shown, next.entries.length - 1));
}

function summaryOf({ entries, total }, seconds) {
  const pages = entries.filter((entry) => entry.page);
  const count = pages.reduce((sum, entry) => sum + entry.page.lines.length, 0);
  const failed = entries.length - pages.length;
  const parts = [plural(count, "line"), total > 1 ? `on ${plural(pages.length, "page")}` : "", `in ${seconds.toFixed(1)} s`];
  const failures = failed ? ` ${plural(failed, "page or file", "pages or files")} could not be read.` : "";
  return `${parts.filter(Boolean).join(" ")}.${failures}`;
}

// Showing

/** A picture can be looked at while it is being read. */
function showFirstPicture() {
  const [file] = files;
  if (files.length === 1 && isDrawable(file)) showPictureOf(file, 1);
}

function turnTo(index) {
  const entry = answer.entries[index];
  shown = index;
  show(find("result"), true);
  pager.select(index);
  if (entry.page) showPage(entry.page);
  else showFailure(entry.error);
}

function showPage(page) {
  const level = options.level();
  const lineUnits = unitsOf(page, level);
  hideProblem();
  find("result").classList.remove("failed");
  showPictureOf(files[page.file - 1], page.number);
  units = lineUnits.flat();
  picture.showUnits(page, lineUnits, level);
  lines.show(lineUnits, level);
  show(find("nothing"), lineUnits.length === 0);
  showNotes();
}

function showNotes() {
  const { page, warnings } = answer.entries[shown];
  if (page) showWarnings([...warnings, ...answer.warnings.filter(({ file }) => file === page.file)]);
}

async function showFailure(error) {
  clearPage();
  find("result").classList.add("failed");
  const problem = await problemOfPage(error);
  if (answer.entries[shown]?.error === error) showProblem(problem, { retry: readAll });
}

/** The last picture that was asked for is shown when it is there. */
async function showPictureOf(file, number) {
  const { dpi, timeout } = options.chosen();
  const address = pictures.addressOf(file, number, { dpi, timeout });
  if (address === wanted) return;
  wanted = address;
  picture.clear();
  try {
    const source = await address;
    if (wanted !== address) return;
    picture.show(source, `Page ${number} of ${file.name}`);
    show(find("result"), true);
  } catch (problem) {
    if (wanted === address && answer.entries.length) say(`The text is here, but not its picture: ${problem.message}.`);
  }
}

function clearPage() {
  units = [];
  wanted = null;
  picture.clear();
  lines.show([], "line");
  show(find("nothing"), false);
  showWarnings([]);
}

function showCommand() {
  find("curl").textContent = files.length ? curlLine(files, addressOf(requestOptions()), { withKey: hasKey() }) : "";
}

// Pointing, copying, downloading

/** Highlight a unit, or the one that has the focus; `other` is the part that must bring it into its window. */
function point(index, other) {
  const pointed = index ?? lines.focused();
  picture.highlight(pointed);
  lines.highlight(pointed);
  find("score").textContent = units[pointed] ? `score ${units[pointed].score ?? "unknown"}` : "";
  if (index !== null) other.reveal(index);
}

function pick(index) {
  lines.focus(index);
  copyText(units[index].text ?? "", `“${units[index].text}”`);
}

async function copyText(text, name) {
  say((await copy(text)) ? `Copied ${name}.` : "The browser did not allow the copy.");
}

function download(format) {
  if (!find("stop").hidden) {
    say("Something is under way; stop it first, or wait.");
    return;
  }
  const page = answer.entries[shown]?.page;
  const one = format.single && page;
  const asked = one ? [files[page.file - 1]] : files;
  const chosen = { ...requestOptions(), format: format.name, ...(one && { pages: String(page.number) }) };
  const name = nameFor(asked[0], format);
  during(() => download(format), `Writing ${name} …`, async (signal) => {
    save(await written(asked, chosen, signal), name);
    say(`Downloaded ${name}.`);
  });
}

function requestOptions() {
  const level = options.level();
  return { ...(level === "line" ? {} : { level }), ...options.chosen() };
}

const named = ({ pages }, index) => ({ name: files[index].name, pages });

const nameOf = (chosen) => (chosen.length === 1 ? chosen[0].name : `${chosen.length} files`);

const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

// Controls

listenForFiles(take);

find("level").addEventListener("change", () => {
  showCommand();
  if (!files.length) return;
  if (answer.entries.length && covers(answer.level, options.level())) turnTo(shown);
  else readAll();
});
find("options").addEventListener("input", showCommand);
find("options").addEventListener("submit", (event) => {
  event.preventDefault();
  pictures.clear();
  if (files.length) readAll();
});
find("key").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(find("key-value").value.trim());
  find("key-value").value = "";
  lastWork();
});
find("stop").addEventListener("click", () => work.abort());
find("copy-all").addEventListener("click", () => {
  const text = answer.entries[shown]?.page?.text ?? "";
  copyText(text, "the text of this page");
});
find("copy-command").addEventListener("click", () => copyText(find("curl").textContent, "the command"));

introduce();
