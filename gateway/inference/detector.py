"""Detection calls, a bounded number at a time: pages wait here, where deadlines count, and not in Triton's queue."""

import asyncio
import time

from gateway import metrics
from gateway.arrays import Image, ProbabilityMap
from gateway.concurrency import Slots
from gateway.deadline import Deadline
from gateway.errors import InferenceTimeout
from gateway.inference.backend import Backend


class Detector:
    """Finds text in pages through a backend; pages are detected one a call, so that none depends on another."""

    def __init__(self, backend: Backend, *, calls_in_flight: int) -> None:
        """Prepare; so many calls may be under way for each server."""
        self._backend = backend
        self._free = Slots(lambda: calls_in_flight * max(1, backend.servers))

    async def detect(self, tensor: Image, *, deadline: Deadline) -> ProbabilityMap:
        """The map of one page, whose shape the contract allows.

        Raises:
            InferenceTimeout: no call was free, or the call did not answer, before the deadline.
            BackendError: the call failed.
        """
        started = time.monotonic()
        await self._wait_for_turn(deadline, started)
        try:
            if deadline.expired:
                raise _not_sent(started)
            return await self._backend.detect(tensor, timeout_s=deadline.remaining())
        except asyncio.CancelledError:
            metrics.CALLS_CANCELLED.inc()
            raise
        finally:
            self._free.release()

    async def _wait_for_turn(self, deadline: Deadline, started: float) -> None:
        try:
            with metrics.DETECTION_WAIT_SECONDS.time():
                async with asyncio.timeout(deadline.remaining()):
                    await self._free.acquire()
        except TimeoutError as error:
            raise _not_sent(started) from error


def _not_sent(started: float) -> InferenceTimeout:
    waited_s = time.monotonic() - started
    return InferenceTimeout(f"the page waited {waited_s:.1f} s for its detection and was not sent")
