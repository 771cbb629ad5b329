// The gateway's API, as far as this page needs it. Addresses are relative: a proxy may add a prefix.

import { cut, problemOf, unreachable } from "./problem.js";
import { parseTimes } from "./times.js";

const DRAWABLE = new Set(["image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp", "image/avif"]);

/** Options with which the service looks for lines where there are none to be found: only the page's picture is left. */
const ONLY_PICTURE = { format: "png", recognize: "false", limit_side: "64", min_side: "0", box_threshold: "1" };

let key = "";

/** Kept in this variable only. */
export function useKey(value) {
  key = value;
}

export const hasKey = () => key !== "";

/** Whether a browser draws such a file itself; what it draws is then one page. */
export const isDrawable = (file) => DRAWABLE.has(file.type);

export async function capabilities() {
  return (await ask("v1/capabilities")).json();
}

/**
 * What the service says of the files, as the events of its stream. A single picture is answered at once, with the times
 * of the stages in the header; of documents, each page comes as soon as it is read.
 */
export async function* read(files, options, signal) {
  const whole = files.length === 1 && isDrawable(files[0]);
  const response = await post(files, whole ? options : { ...options, format: "ndjson" }, signal);
  if (whole) {
    yield* eventsOf(await response.json(), parseTimes(response.headers.get("Server-Timing")));
  } else {
    yield* streamed(response.body);
  }
}

/** The files in a format, as the service writes it. */
export async function written(files, options, signal) {
  return (await post(files, options, signal)).blob();
}

/** The picture of one page, for files that a browser can't draw. */
export function pictureOf(file, number, { dpi, timeout }, signal) {
  const given = Object.entries({ dpi, timeout }).filter(([, value]) => value !== undefined);
  return written([file], { ...ONLY_PICTURE, ...Object.fromEntries(given), pages: String(number) }, signal);
}

export function addressOf(options) {
  const query = new URLSearchParams(options).toString();
  return new URL(query ? `v1/ocr?${query}` : "v1/ocr", document.baseURI).href;
}

function post(files, options, signal) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  if (files.length === 1) {
    headers["Content-Type"] = "application/octet-stream";
    return ask(addressOf(options), { method: "POST", headers, body: files[0], signal });
  }
  const form = new FormData();
  for (const file of files) form.append("file", file);
  return ask(addressOf(options), { method: "POST", headers, body: form, signal });
}

async function ask(address, request) {
  let response;
  try {
    response = await fetch(address, request);
  } catch (error) {
    throw error.name === "AbortError" ? error : unreachable(error);
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

function* eventsOf(answer, times) {
  const { files, pages, errors, warnings } = answer;
  yield { event: "start", files, model_set: answer.model_set, total: pages.length + errors.length };
  for (const page of pages) {
    const own = (warning) => warning.file === page.file && warning.page === page.number;
    yield { event: "page", page, warnings: warnings.filter(own) };
  }
  for (const error of errors) yield { event: "error", error };
  yield { event: "end", warnings: warnings.filter((warning) => warning.page === null), stages_ms: times };
}

async function* streamed(body) {
  let last;
  try {
    for await (const line of linesOf(body)) {
      last = JSON.parse(line);
      yield last;
    }
  } catch (error) {
    throw error.name === "AbortError" ? error : cut(error.message);
  }
  if (last?.event !== "end") throw cut("the connection ended before the last page had come");
}

async function* linesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    yield* lines;
  }
}
