// What is going on, in a line that screen readers announce.

import { find, show } from "./elements.js";

export function say(message) {
  find("status").textContent = message;
}

/** Something has begun or goes on; `share` of it is done, if that is known. Null: it is over. */
export function progress(message, share) {
  const bar = find("bar");
  if (message !== null) say(message);
  if (share === undefined) bar.removeAttribute("value");
  else bar.value = share;
  show(bar, message !== null);
  show(find("stop"), message !== null);
}
