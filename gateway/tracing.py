"""What the gateway needs of tracing: spans for stages and chunks, if somebody collects them.

A request that is not traced has no trace, so nothing is done for it. What goes to the inference server goes there for
traces that are sampled only: Triton traces whatever comes with a context, even one that says it is not sampled.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol

from gateway.errors import OcrError

Attributes = Mapping[str, str | int]

outgoing: ContextVar[str] = ContextVar("outgoing", default="")
"""The W3C `traceparent` that calls to the inference server carry; empty if they carry none."""


class Span(Protocol):
    """Something that takes time."""

    @property
    def traceparent(self) -> str:
        """What a call made within it carries (W3C Trace Context)."""

    def end(self, error: str = "") -> None:
        """It is over; with the code of what went wrong, if something did."""


class Trace(Protocol):
    """One request that is traced."""

    @property
    def traceparent(self) -> str:
        """Of the request as a whole."""

    def start(self, name: str, attributes: Attributes) -> Span:
        """Begin a span within the request."""

    def end(self, attributes: Attributes, *, failed: bool) -> None:
        """The request has been answered."""


class Tracer(Protocol):
    """Decides which requests are traced, and collects their spans."""

    def begin(self, name: str, traceparent: str) -> Trace | None:
        """The trace of a request that came with this context, or with none; None if it is not sampled."""

    def close(self) -> None:
        """Send what has been collected."""


def spanned(trace: Trace | None, name: str) -> AbstractContextManager[None]:
    """A span of this trace around what is done; calls to the inference server carry it."""
    return nullcontext() if trace is None else _spanned(trace, name)


@contextmanager
def _spanned(trace: Trace, name: str) -> Iterator[None]:
    span = trace.start(name, {})
    before, code = outgoing.set(span.traceparent), OcrError.code
    try:
        yield
        code = ""
    except OcrError as error:
        code = error.code
        raise
    finally:
        outgoing.reset(before)
        span.end(code)
