"""All Tritons of the service: finds them, watches each, and lets them go."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress

from gateway.concurrency import gather_all
from gateway.errors import BackendUnavailable
from gateway.inference.addresses import Address, look_up
from gateway.inference.channels import TritonTls
from gateway.inference.endpoints import Endpoint
from gateway.inference.rotation import Rotation
from gateway.inference.served_models import ModelNames
from gateway.inference.watching import Watch, WatchOptions

DRAIN_S = 30.0
"""How long calls may go on at an endpoint that has vanished from DNS."""

logger = logging.getLogger(__name__)


class Fleet:
    """The endpoints behind some addresses, and the tasks that watch them; to be used on a running event loop.

    Attributes:
        rotation: those that there are, and which of them take calls.
    """

    def __init__(
        self,
        addresses: Sequence[Address],
        names: ModelNames,
        options: WatchOptions,
        *,
        timeout_s: float,
        tls: TritonTls | None = None,
        label: str = "",
        look_up: Callable[[Address], Awaitable[list[str]]] = look_up,
    ) -> None:
        """Prepare; nothing is looked up or connected yet.

        Args:
            addresses: where Tritons are.
            names: of their models.
            options: how closely they are watched.
            timeout_s: deadline of each question about the models.
            tls: how connections are encrypted, if they are.
            label: what the models are, if they are not those that serve.
            look_up: the addresses behind an address; raises OSError.
        """
        self.rotation = Rotation(self._make)
        self._addresses = addresses
        self._names = names
        self._options = options
        self._timeout_s = timeout_s
        self._tls = tls
        self._label = label
        self._look_up_one = look_up
        self._known: dict[Address, list[str]] = {}
        self._watches: dict[Endpoint, tuple[Watch, asyncio.Task[None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()
        self._started = False

    async def refresh(self) -> None:
        """Read the contracts again, and wait until something is known of every endpoint; starts everything at first.

        Raises:
            BackendError, ContractError: no endpoint serves; this is what the first has to say.
        """
        async with self._starting:
            if not self._started:
                await self._start()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeout_s):
                await gather_all(watch.refresh() for watch, _ in self._watches.values())
        if outage := self.rotation.outage:
            errors = [endpoint.error for endpoint in self.rotation.endpoints if endpoint.error is not None]
            # Raised many times, so it must not collect the tracebacks of all of them.
            raise errors[0].with_traceback(None) if errors else BackendUnavailable(outage)

    async def wait_for_return(self) -> None:
        """Wait for what becomes of the silent endpoints: a moment for a sign of life, then for their examination."""
        await gather_all(watch.wait_for_return() for watch, _ in self._watches.values())

    async def close(self) -> None:
        """Cancel calls and disconnect."""
        tasks = (*self._tasks, *(task for _, task in self._watches.values()))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await gather_all(endpoint.close() for endpoint in self.rotation.endpoints)

    async def _start(self) -> None:
        await self._look_up()
        if any(address.is_name for address in self._addresses):
            self._keep(self._look_up_for_ever())
        self._started = True

    async def _look_up_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._options.look_up_interval_s)
            await self._look_up()

    async def _look_up(self) -> None:
        """Have an endpoint for each address; what was known of a name stays while DNS does not answer."""
        for address in self._addresses:
            try:
                self._known[address] = await self._look_up_one(address)
            except OSError as error:
                logger.warning("no addresses for %s now: %s", address, error)
        self._follow([one for address in self._addresses for one in self._known.get(address, ())])

    def _follow(self, addresses: Sequence[str]) -> None:
        new, gone = self.rotation.follow(addresses)
        for endpoint in new:
            watch = Watch(endpoint, self._options)
            self._watches[endpoint] = watch, _started(watch.run())
        for endpoint in gone:
            _, task = self._watches.pop(endpoint)
            task.cancel()
            logger.info("endpoint %s is gone from DNS", endpoint.name)
            self._keep(endpoint.close(grace_s=DRAIN_S))

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        task = _started(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _make(self, address: str, changed: Callable[[], None]) -> Endpoint:
        return Endpoint(
            address, self._names, timeout_s=self._timeout_s, changed=changed, tls=self._tls, label=self._label
        )


def _started(work: Coroutine[None, None, None]) -> asyncio.Task[None]:
    task = asyncio.create_task(work)
    task.add_done_callback(_report_bug)
    return task


def _report_bug(task: asyncio.Task[None]) -> None:
    """Say at once what ended a task that should not end: nobody awaits it before the service stops."""
    if not task.cancelled() and (error := task.exception()):
        logger.critical("an inference server is not watched any more", exc_info=error)
