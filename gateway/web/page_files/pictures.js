// The pictures of pages: the browser draws most files itself; of others, and of documents, the service sends them.

import { isDrawable, pictureOf } from "./service.js";

export function createPictures() {
  const known = new Map();

  /** An address for `src`, made once. It may take a request, and fail with its problem. */
  function addressOf(file, number, options) {
    const pages = known.get(file) ?? new Map();
    known.set(file, pages);
    if (!pages.has(number)) {
      const address = isDrawable(file) ? ownOrServed(file, number, options) : served(file, number, options);
      address.catch(() => pages.delete(number));
      pages.set(number, address);
    }
    return pages.get(number);
  }

  /** Forget everything; nobody else would free the memory. */
  function clear() {
    for (const pages of known.values()) {
      for (const address of pages.values()) address.then(URL.revokeObjectURL, () => {});
    }
    known.clear();
  }

  return { addressOf, clear };
}

/** Its type is only what its name says: if the browser can't draw the file, the service may be able to. */
async function ownOrServed(file, number, options) {
  const address = URL.createObjectURL(file);
  const probe = new Image();
  probe.src = address;
  try {
    await probe.decode();
    return address;
  } catch {
    URL.revokeObjectURL(address);
    return served(file, number, options);
  }
}

const served = async (file, number, options) => URL.createObjectURL(await pictureOf(file, number, options));
