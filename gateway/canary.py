"""Readiness that does not lie: a known picture goes through the whole path every few seconds.

Triton's own health stays green when a model's process has died (docs/operations.md), so it is not asked.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from importlib.resources import files

from gateway import metrics
from gateway.errors import OcrError

KNOWN_PICTURE = files("gateway").joinpath("known_picture.png").read_bytes()
KNOWN_TEXT = "Known picture\n0123456789"

logger = logging.getLogger(__name__)


class Canary:
    """Reads the known picture now and then; the service is ready while the last reading was right.

    A reading that times out while the models answer other calls proves load, not a fault: it changes nothing, or a busy
    service would be taken out of rotation and the rest of the fleet would drown.
    """

    def __init__(
        self,
        read_text: Callable[[bytes, float], Awaitable[str]],
        last_answer_at: Callable[[], float],
        *,
        interval_s: float,
        timeout_s: float,
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            read_text: reads a picture within so many seconds.
            last_answer_at: when the models last answered any call, on the monotonic clock.
            interval_s: time between readings.
            timeout_s: deadline of a reading.
        """
        self._read_text = read_text
        self._last_answer_at = last_answer_at
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._right = self._tried = False
        self._checked_at = time.monotonic()
        self._reason = "the known picture has not been read yet"

    @property
    def reason(self) -> str:
        """Why the service is not ready; empty when it is."""
        age_s = time.monotonic() - self._checked_at
        if age_s > 2 * (self._interval_s + self._timeout_s):
            return f"the known picture has not been tried for {age_s:.0f} s"
        return "" if self._right else self._reason

    @property
    def outage(self) -> str:
        """What was wrong at the last try, while it was not made good; empty before the first try, which may go well."""
        return self._reason if self._tried and not self._right else ""

    @property
    def ready(self) -> bool:
        """Whether the known picture was read correctly at the last try, and that was not long ago."""
        return not self.reason

    async def run(self) -> None:
        """Check for ever; cancel to stop. Until the first success it checks every second."""
        while True:
            await self.check()
            await asyncio.sleep(self._interval_s if self._right else min(1.0, self._interval_s))

    async def check(self) -> None:
        """Read the known picture once and note the outcome."""
        started = time.monotonic()
        try:
            text = await self._read_text(KNOWN_PICTURE, self._timeout_s)
        except OcrError as error:
            busy = self._right and self._last_answer_at() > started
            self._note(right=busy, reason=f"{error.code}: {error.detail}")
        else:
            metrics.CANARY_SECONDS.observe(time.monotonic() - started)
            self._note(right=text == KNOWN_TEXT, reason=f"the known picture was read as {text!r}")

    def _note(self, *, right: bool, reason: str) -> None:
        if right and not self._right:
            logger.info("ready: the known picture is read correctly")
        if not right and (self._right or reason != self._reason):
            logger.error("not ready: %s", reason)
        self._right, self._reason, self._checked_at = right, reason, time.monotonic()
        self._tried = True
        metrics.CANARY_OK.set(right)
