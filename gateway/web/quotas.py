"""A client's quota: a token bucket, and the headers that tell the client how it stands."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quota:
    """How often a client may come.

    Attributes:
        requests_per_minute: in the long run.
        burst: at once, after a pause.
    """

    requests_per_minute: float
    burst: int

    @property
    def per_s(self) -> float:
        """Requests a second in the long run."""
        return self.requests_per_minute / 60


class TokenBucket:
    """Holds up to `burst` tokens and gets new ones at a steady rate; a request takes one."""

    def __init__(self, quota: Quota) -> None:
        self._quota = quota
        self._tokens = float(quota.burst)
        self._at = -math.inf

    def take(self, now: float) -> float:
        """Take a token; 0.0, or the seconds until there is one."""
        self._tokens = min(self._quota.burst, self._tokens + (now - self._at) * self._quota.per_s)
        self._at = now
        if self._tokens < 1:
            return (1 - self._tokens) / self._quota.per_s
        self._tokens -= 1
        return 0.0

    def headers(self) -> dict[str, str]:
        """RateLimit fields (draft-ietf-httpapi-ratelimit-headers): quota and window, what is left, until it is full."""
        missing = self._quota.burst - self._tokens
        window_s = math.ceil(self._quota.burst / self._quota.per_s)
        return {
            "RateLimit-Policy": f'"requests";q={self._quota.burst};w={window_s}',
            "RateLimit": f'"requests";r={int(self._tokens)};t={math.ceil(missing / self._quota.per_s)}',
        }
