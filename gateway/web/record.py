"""What is noted about one request on its way, for its log line and its metrics."""

from dataclasses import dataclass, field

from starlette.types import Scope

from gateway.metrics import StageTimes

_KEY = "ocr.record"


@dataclass(slots=True)
class RequestRecord:
    """Filled in by whoever knows: the middleware counts bytes, the route notes what came of the page.

    Attributes:
        times: time spent in each stage.
        status: of the answer; 500 until one is sent.
        body_bytes, answer_bytes: received and sent.
        code: of the problem document, if one was sent.
        lines: lines returned.
        warnings: codes of the warnings returned.
    """

    times: StageTimes = field(default_factory=StageTimes)
    status: int = 500
    body_bytes: int = 0
    answer_bytes: int = 0
    code: str | None = None
    lines: int | None = None
    warnings: tuple[str, ...] = ()


def record_of(scope: Scope) -> RequestRecord:
    """The request's record; made at the first call."""
    record = scope.setdefault(_KEY, RequestRecord())
    assert isinstance(record, RequestRecord)
    return record
