"""How fast requests are finished, so that no more are taken than can be finished in time."""

import math

_HALF_LIFE_S = 10.0
"""Of a measurement, in seconds with work: long against one page on a CPU, short against a fault."""

_MEMORY_S = _HALF_LIFE_S / math.log(2)
"""What an endless time with work amounts to, when what is past fades."""


class Pace:
    """Requests finished per second, while there was work; what happened longer ago counts less.

    By Little's law a service that finishes `r` requests a second answers within `t` seconds while at most `r t` are
    under way. All requests under way progress alike (the batcher takes turns), so with twice as many as fit into their
    deadline not half of them are late, but all.
    """

    def __init__(self) -> None:
        self._under_way = 0
        self._done = 0.0
        self._busy_s = 0.0
        self._at = 0.0

    def begin(self, now: float) -> None:
        """Note that a request is worked on."""
        self._advance(now)
        self._under_way += 1

    def progress(self, now: float) -> None:
        """Note that a page of a document is finished, and others of it are not."""
        self._advance(now)
        self._done += 1

    def end(self, now: float, *, done: bool) -> None:
        """Note that it is over, finished or failed."""
        self._advance(now)
        self._under_way -= 1
        self._done += done

    def finished_within(self, seconds: float, now: float) -> float:
        """How many requests are finished in this time at the present pace; infinite before there was any work.

        One that is just about to finish is counted as well: without a measurement, silence for long means slow.
        """
        self._advance(now)
        return (self._done + 1) / self._busy_s * seconds if self._busy_s else float("inf")

    def _advance(self, now: float) -> None:
        if self._under_way and now > self._at:
            fading = 0.5 ** ((now - self._at) / _HALF_LIFE_S)
            self._busy_s = self._busy_s * fading + _MEMORY_S * (1 - fading)
            self._done *= fading
        self._at = now
