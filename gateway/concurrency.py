"""Running things side by side: tasks with one owner, and CPU work off the event loop."""

import asyncio
import os
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeVar, TypeVarTuple

import cv2

from gateway.deadline import Deadline
from gateway.errors import DeadlineExceeded, OcrError, Overloaded

NICENESS = 5
"""Of threads that compute, above the event loop's: a third of its weight for a core."""

NICEST = 19
"""Linux knows no more."""

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


async def gather_all(awaitables: Iterable[Awaitable[T]]) -> list[T]:
    """Results in order. The first failure cancels the rest, waits for them to end, and is raised with its cause."""
    tasks = [asyncio.ensure_future(awaitable) for awaitable in awaitables]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


class Slots:
    """Slots for work under way, whose number may change; whoever has waited longest gets the next free one."""

    def __init__(self, count: Callable[[], int]) -> None:
        """Prepare; `count()` says how many there are at the moment."""
        self._count = count
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def taken(self) -> int:
        """How many are taken."""
        return self._taken

    async def acquire(self) -> None:
        """Take a slot when it is one's turn."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._hand_out()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give it back."""
        self._taken -= 1
        self._hand_out()

    def _hand_out(self) -> None:
        while self._waiting and self._taken < self._count():
            turn = self._waiting.popleft()
            if not turn.done():
                self._taken += 1
                turn.set_result(None)


class CpuPool:
    """Threads for decoding, post-processing and cropping; OpenCV and NumPy release the interpreter's lock there.

    One thread per core, and OpenCV's own threads off: parallelism comes from requests, not from within one.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or os.cpu_count() or 1
        cv2.setNumThreads(1)
        self._executor = ThreadPoolExecutor(self.threads, thread_name_prefix="cpu", initializer=_yield_to_event_loop)
        self.busy = 0

    async def run(self, function: Callable[[*Arguments], T], *args: *Arguments, deadline: Deadline | None = None) -> T:
        """Call `function(*args)` on a thread of the pool.

        Raises:
            DeadlineExceeded, Overloaded: the deadline passed, the client's own or the server's. Work that has begun by
                then runs on and its result is dropped; work that has not begun never does.
        """

        def work() -> T:
            # The timeout below takes work back that waits for a thread, but a busy event loop may be late with that.
            if deadline is not None and deadline.expired:
                raise too_late(deadline)
            return function(*args)

        self.busy += 1
        try:
            async with asyncio.timeout(deadline.remaining() if deadline else None):
                return await asyncio.get_running_loop().run_in_executor(self._executor, work)
        except TimeoutError as error:
            raise too_late(deadline) from error
        finally:
            self.busy -= 1

    def close(self) -> None:
        """Drop what is queued and let what is running end."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _yield_to_event_loop() -> None:
    """Let this thread run when the event loop does not need the core.

    Taking a connection and refusing a request takes a millisecond, a page twenty. Side by side as equals, pages would
    keep the loop from requests that then wait, uncounted, in the kernel's queue. On Linux threads have a niceness each.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, min(NICEST, os.getpriority(os.PRIO_PROCESS, thread) + NICENESS))


def too_late(deadline: Deadline | None) -> OcrError:
    """What a deadline that passed in the gateway itself means: too short for the client's own, overload for ours."""
    if deadline is None or not deadline.from_client:
        return Overloaded("the server was too busy to finish in time")
    return DeadlineExceeded(f"the {deadline.timeout_s:g} s that the request allowed were over")
