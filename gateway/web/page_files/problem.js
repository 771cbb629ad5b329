// What went wrong, as the service's problem documents say it (RFC 9457).

import { find, show } from "./elements.js";

export class Problem extends Error {
  /** Has title, detail and, where they are known, advice, code, request_id, retryable and retry_after_ms. */
  constructor(document) {
    super(document.detail);
    Object.assign(this, document);
  }
}

export function unreachable(error) {
  return new Problem({
    title: "The service can't be reached",
    detail: `no answer came (${error.message})`,
    advice: "Is it running, and are you connected to it? A file above its limit may end like this, too.",
    retryable: true,
  });
}

export function cut(detail) {
  return new Problem({
    title: "The answer was cut",
    detail,
    advice: "Try again, or ask for fewer pages with the option pages.",
    retryable: true,
  });
}

/** An error of any kind; what is no problem of the service is one of this page. */
export function asProblem(error) {
  if (error instanceof Problem) return error;
  return new Problem({ title: "This page failed", detail: error.message, advice: "Load it anew, then report it." });
}

/** The problem that an answer is; of a proxy's own error pages only the status is known. */
export async function problemOf(response) {
  try {
    const document = await response.json();
    return new Problem({ ...document, advice: (await kindOf(document.code)).advice });
  } catch {
    return new Problem({
      title: `Status ${response.status}`,
      detail: `an answer of another server than the gateway: ${response.statusText || "without a reason"}`,
      advice: "Look into the log of the proxy in between.",
      retryable: response.status >= 500,
    });
  }
}

/** Why one page of several was not read; its entry in the answer has no title. */
export async function problemOfPage(failure) {
  const { title, advice } = await kindOf(failure.code);
  return new Problem({ title: title ?? failure.code, ...failure, advice });
}

export function showProblem(problem, { retry }) {
  find("problem-title").textContent = problem.title;
  find("problem-detail").textContent = sentence(problem.detail);
  find("problem-advice").textContent = [problem.advice, waiting(problem)].filter(Boolean).join(" ");
  find("problem-id").textContent = problem.request_id ? `Request ${problem.request_id}` : "";
  show(find("key"), problem.code === "unauthenticated");
  show(find("retry"), Boolean(problem.retryable));
  find("retry").onclick = retry;
  show(find("problem"), true);
  find("problem").scrollIntoView({ block: "nearest" });
}

export function hideProblem() {
  show(find("problem"), false);
}

/** Title and advice, from the address that explains the kind of problem. */
async function kindOf(code) {
  const answer = await fetch(new URL(`problems/${encodeURIComponent(code)}`, document.baseURI)).catch(() => null);
  return answer?.ok ? answer.json() : {};
}

const waiting = ({ retry_after_ms: ms }) => (ms ? `It asks for ${(ms / 1000).toFixed(1)} s of patience.` : "");

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
