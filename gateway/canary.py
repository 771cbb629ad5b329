"""Readiness that does not lie: a known picture goes through the whole path every few seconds.

Triton's own health stays green when a model's process has died (docs/operations.md), so it is not asked.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.resources import files

from gateway import metrics
from gateway.errors import InferenceTimeout, OcrError, Overloaded

KNOWN_PICTURE = files("gateway").joinpath("known_picture.png").read_bytes()
KNOWN_TEXT = "Known picture\n0123456789"

NO_SERVER = "no inference server takes calls at the moment"

logger = logging.getLogger(__name__)


class Canary:
    """Reads the known picture now and then; the service is ready while the last reading was right, and no outage is on.

    That no server can be called is known sooner and better by the backend, which watches each of them: a hang takes it
    a second. Then the service is not ready, and readings that fail meanwhile say nothing new. A reading that is late
    while the models answer other calls proves load, not a fault: it changes nothing either, or a busy service would be
    taken out of rotation and the rest of the fleet would drown.
    """

    def __init__(
        self,
        read_text: Callable[[bytes, float], Awaitable[str]],
        last_answer_at: Callable[[], float],
        backend_outage: Callable[[], str] = lambda: "",
        *,
        interval_s: float,
        timeout_s: float,
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            read_text: reads a picture within so many seconds.
            last_answer_at: when the models last answered any call, on the monotonic clock.
            backend_outage: why the backend can take no call; empty if it can.
            interval_s: time between readings.
            timeout_s: deadline of a reading.
        """
        self._read_text = read_text
        self._last_answer_at = last_answer_at
        self._backend_outage = backend_outage
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._right = False
        self._tried = asyncio.Event()
        self._checked_at = time.monotonic()
        self._reason = "the known picture has not been read yet"

    @property
    def reason(self) -> str:
        """Why the service is not ready; empty when it is."""
        age_s = time.monotonic() - self._checked_at
        if age_s > 2 * (self._interval_s + self._timeout_s):
            return f"the known picture has not been tried for {age_s:.0f} s"
        return self._backend_outage() or ("" if self._right else self._reason)

    @property
    def outage(self) -> str:
        """Why requests can't be answered now, for clients; empty before the first try, which may go well."""
        if not self._tried.is_set():
            return ""
        if self._backend_outage():
            return NO_SERVER
        return "" if self._right else self._reason

    @property
    def ready(self) -> bool:
        """Whether the known picture was read correctly at the last try, and that was not long ago."""
        return not self.reason

    async def run(self) -> None:
        """Check for ever; cancel to stop. Until the first success it checks every second."""
        while True:
            await self.check()
            await asyncio.sleep(self._interval_s if self._right else min(1.0, self._interval_s))

    async def wait_tried(self, timeout_s: float) -> None:
        """Return after the first try, or when time is up."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._tried.wait()

    async def check(self) -> None:
        """Read the known picture once and note the outcome. A bug is one, too: nobody else would ever learn of it."""
        started = time.monotonic()
        try:
            text = await self._read_text(KNOWN_PICTURE, self._timeout_s)
        except OcrError as error:
            excused = self._right and self._is_excused(error, started)
            self._note(right=excused, reason=f"{error.code}: {error.detail}")
        except Exception as error:
            logger.critical("bug while the known picture was read", exc_info=error)
            self._note(right=False, reason=f"{OcrError.code}: a bug, {type(error).__name__}")
        else:
            metrics.CANARY_SECONDS.observe(time.monotonic() - started)
            self._note(right=text == KNOWN_TEXT, reason=f"the known picture was read as {text!r}")

    def _is_excused(self, error: OcrError, started: float) -> bool:
        """Whether a reading failed for a reason that is known already, or for want of time that others took."""
        if self._backend_outage():
            return True
        return isinstance(error, (InferenceTimeout, Overloaded)) and self._last_answer_at() > started

    def _note(self, *, right: bool, reason: str) -> None:
        if right and not self._right:
            logger.info("ready: the known picture is read correctly")
        if not right and (self._right or reason != self._reason):
            logger.error("not ready: %s", reason)
        self._right, self._reason, self._checked_at = right, reason, time.monotonic()
        self._tried.set()
        metrics.CANARY_OK.set(right and not self._backend_outage())
