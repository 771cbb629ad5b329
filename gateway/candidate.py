"""A candidate: models beside those that serve, which read a share of the requests, and those that ask for it.

`ocr-gateway models deploy --share` loads it on the Tritons, and its configuration says how much it reads. So gateways
have no setting for it and hold no key: they look now and then whether there is one.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from gateway import metrics
from gateway.deadline import Deadline
from gateway.decoders.decoders import OpenFile
from gateway.documents import PageReader
from gateway.errors import BackendError, OcrError, Overloaded
from gateway.inference.backend import Backend
from gateway.metrics import StageTimes
from gateway.ocr.elements import Page, PageWarning
from gateway.ocr.options import PageOptions

NO_CANDIDATE = -1
"""As a share, for the metric."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One that is loaded.

    Attributes:
        backend: its models.
        reader: reads by them.
    """

    backend: Backend
    reader: PageReader

    @property
    def share(self) -> float:
        """How many per cent of the requests it reads."""
        return self.backend.contract.share or 0.0


class Candidates:
    """Knows the candidate, while there is one."""

    def __init__(
        self, find_share: Callable[[], Awaitable[float | None]], connect: Callable[[], Candidate], *, interval_s: float
    ) -> None:
        """Prepare; nothing is looked for yet.

        Args:
            find_share: the share that the servers know of; None if there is no candidate.
            connect: makes one, without waiting for it.
            interval_s: time between two looks.
        """
        self._find_share = find_share
        self._connect = connect
        self._interval_s = interval_s
        self._candidate: Candidate | None = None
        metrics.CANDIDATE_SHARE.set(NO_CANDIDATE)

    @property
    def current(self) -> Candidate | None:
        """The candidate, if its models can be called now."""
        candidate = self._candidate
        return candidate if candidate and not candidate.backend.outage else None

    async def run(self) -> None:
        """Look for ever; cancel to stop."""
        while True:
            try:
                await self.look()
            except Exception as error:
                logger.critical("bug while a candidate was looked for", exc_info=error)
            await asyncio.sleep(self._interval_s)

    async def look(self) -> None:
        """Connect to a candidate that is new, learn its share, and let go of one that has been withdrawn."""
        try:
            share = await self._find_share()
        except OcrError:
            return  # nothing is known of it while no server answers
        if share is None:
            await self.close()
            return
        self._candidate = candidate = self._candidate or self._connect()
        try:
            await candidate.backend.refresh()
        except OcrError as error:
            logger.warning("the candidate can't be called: %s", error.detail)
        else:
            metrics.CANDIDATE_SHARE.set(candidate.share)

    async def close(self) -> None:
        """Let go of it. What it was reading fails, and is read by the models that serve."""
        candidate, self._candidate = self._candidate, None
        metrics.CANDIDATE_SHARE.set(NO_CANDIDATE)
        if candidate:
            logger.info("the candidate has been withdrawn")
            await candidate.backend.close()


async def no_candidate() -> None:
    """The share where there can be no candidate."""


class FallingBack:
    """A reader whose pages the models that serve read if the candidate's fail: trying it must cost nobody a page.

    A page gets half of its time for that.
    """

    def __init__(self, candidate: PageReader, serving: PageReader) -> None:
        self._candidate = candidate
        self._serving = serving

    async def open(self, data: bytes, options: PageOptions, *, deadline: Deadline, times: StageTimes) -> OpenFile:
        """As `PageReader.open`."""
        return await self._serving.open(data, options, deadline=deadline, times=times)

    async def read(
        self, file: OpenFile, number: int, options: PageOptions, *, deadline: Deadline, times: StageTimes
    ) -> Page:
        """As `PageReader.read`."""
        half = Deadline.after(deadline.remaining() / 2)
        try:
            return await self._candidate.read(file, number, options, deadline=half, times=times)
        except (BackendError, Overloaded) as error:
            metrics.CANDIDATE_FALLBACKS.labels(error.code).inc()
            page = await self._serving.read(file, number, options, deadline=deadline, times=times)
            warning = PageWarning("candidate_failed", f"read by the models that serve: the candidate's {error.code}")
            return replace(page, warnings=(*page.warnings, warning))
