"""Reads a document as a stream, as a client would."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from loadtest.documents.made import Document
from loadtest.documents.memory import MemoryWatch

TIMEOUT_S = 3600
SETTLE_S = 1.0
IDLE_FOR_S = 3.0


@dataclass(frozen=True, slots=True)
class Run:
    """One document, read to its end.

    Attributes:
        document: which.
        arrivals: when each page came, seconds since the request.
        right: pages whose title was read rightly, in their places.
        memory: seconds and bytes of the gateway and its decoders.
    """

    document: Document
    arrivals: tuple[float, ...]
    right: int
    memory: tuple[tuple[float, int], ...]

    @property
    def pages_per_s(self) -> float:
        """After the first page."""
        return (len(self.arrivals) - 1) / (self.arrivals[-1] - self.arrivals[0])

    def memory_at(self, share: float) -> int:
        """Bytes when so much of the document had been read, the most around that moment."""
        at = self.arrivals[min(int(share * len(self.arrivals)), len(self.arrivals) - 1)]
        return max(size for seconds, size in self.memory if abs(seconds - at) <= SETTLE_S)


@dataclass(frozen=True, slots=True)
class Leaving:
    """What the gateway does after a client has left in the middle.

    Attributes:
        pages: that the client had got.
        processor_share: of a core, that the gateway and its decoders use once the client is gone.
    """

    pages: int
    processor_share: float


def read_all(address: str, document: Document) -> Run:
    """Read a document and watch."""
    arrivals, titles = [], []
    with MemoryWatch(httpx.URL(address).port or 80) as watch:
        started = time.monotonic()
        with _lines(address, document) as lines:
            for line in lines:
                if line["event"] == "page":
                    arrivals.append(time.monotonic() - started)
                    titles.append(line["page"]["text"].partition("\n")[0])
    right = sum(title == expected for title, expected in zip(titles, document.titles, strict=False))
    return Run(document, tuple(arrivals), right, tuple(watch.samples))


def leave_after(address: str, document: Document, pages: int) -> Leaving:
    """Read a few pages, leave, and see what goes on."""
    watch = MemoryWatch(httpx.URL(address).port or 80)
    with _lines(address, document) as lines:
        got = 0
        while got < pages:
            got += next(lines)["event"] == "page"
    time.sleep(SETTLE_S)
    before = watch.processor_s()
    time.sleep(IDLE_FOR_S)
    return Leaving(pages, (watch.processor_s() - before) / IDLE_FOR_S)


@contextmanager
def _lines(address: str, document: Document) -> Iterator[Iterator[dict[str, object]]]:
    with httpx.stream(
        "POST",
        f"{address}/v1/ocr",
        content=document.data,
        params={"timeout": TIMEOUT_S},
        headers={"Accept": "application/x-ndjson"},
        timeout=TIMEOUT_S,
        trust_env=False,
    ) as response:
        response.raise_for_status()
        yield map(json.loads, response.iter_lines())
