"""What is noted about one request on its way, for its log line and its metrics."""

import time
from dataclasses import dataclass, field

from starlette.types import Scope

from gateway.metrics import StageTimes

_KEY = "ocr.record"


@dataclass(slots=True)
class RequestRecord:
    """Filled in by whoever knows: the middleware counts bytes, the route notes what came of the page.

    Attributes:
        arrived_at: when its header was complete, on the monotonic clock; its deadline counts from here. Earlier by what
            it had waited in the kernel's queue.
        times: time spent in each stage.
        status: of the answer; 500 until one is sent.
        body_bytes, answer_bytes: received and sent.
        code: of the problem document, if one was sent.
        lines: lines returned.
        failed_pages: pages and files that could not be read, although others could.
        warnings: codes of the warnings returned.
        route: the path, if it was answered before a route was looked for.
        client: name of the client, if there are API keys.
        traceparent: W3C trace context that the client sent, if it is a valid one.
        broken: what is wrong with the body as HTTP, if something is; then it can't be read to its end.
        fields: header fields of the answer: what is left of the client's quota, which models read it.
        release: which models were to read it: serving or candidate; None if none were.
    """

    arrived_at: float = field(default_factory=time.monotonic)
    times: StageTimes = field(default_factory=StageTimes)
    status: int = 500
    body_bytes: int = 0
    answer_bytes: int = 0
    code: str | None = None
    lines: int | None = None
    failed_pages: int = 0
    warnings: tuple[str, ...] = ()
    route: str | None = None
    client: str | None = None
    traceparent: str | None = None
    broken: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    release: str | None = None


def record_of(scope: Scope) -> RequestRecord:
    """The request's record; made at the first call."""
    if _KEY not in scope:
        scope[_KEY] = RequestRecord()
    record = scope[_KEY]
    assert isinstance(record, RequestRecord)
    return record
