"""What a client may find instead of an answer.

ClientError
├── Problem     the service says why (RFC 9457)
└── NoAnswer    there was none, or none that makes sense
"""

from typing import Self

import httpx


class ClientError(Exception):
    """Base of all errors that a client raises."""


class NoAnswer(ClientError):
    """Nobody answered, not in time, or somebody who is no gateway."""


class Problem(ClientError):
    """The service's own account of what went wrong.

    Attributes:
        status: of HTTP.
        code: stable name for programs (docs/api.md).
        detail: what happened, and what to do.
        request_id: to find it in the service's log.
        retryable: whether the same request may succeed a little later.
        retry_after_s: how long to wait before that, if it says so.
    """

    def __init__(
        self, status: int, code: str, detail: str, *, request_id: str, retryable: bool, retry_after_s: float | None
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.status = status
        self.code = code
        self.detail = detail
        self.request_id = request_id
        self.retryable = retryable
        self.retry_after_s = retry_after_s

    @classmethod
    def of(cls, response: httpx.Response) -> Self:
        """The problem of an answer that is no success; a proxy's own has no code."""
        content = response.json() if response.headers.get("content-type") == "application/problem+json" else {}
        return cls(
            response.status_code,
            content.get("code", f"http_{response.status_code}"),
            content.get("detail", response.reason_phrase),
            request_id=content.get("request_id", ""),
            retryable=content.get("retryable", response.status_code in (429, 502, 503, 504)),
            retry_after_s=_retry_after_s(response, content.get("retry_after_ms")),
        )


def _retry_after_s(response: httpx.Response, milliseconds: int | None) -> float | None:
    """What the problem says, which is finer, or else the header; a date there is not understood."""
    if milliseconds is not None:
        return milliseconds / 1000
    header = response.headers.get("retry-after", "")
    return float(header) if header.isdecimal() else None
