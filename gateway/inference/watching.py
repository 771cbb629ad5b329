"""Watching one Triton: is it there, and do its models work? Its own health tells neither (docs/operations.md).

Two questions, because their answers take differently long. A heartbeat needs no model: when it stays away, the server
hangs, however busy it may be. A probe runs the models on the smallest input; on a busy server it waits its turn.
"""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass

from gateway.concurrency import gather_all
from gateway.errors import BackendUnavailable, InferenceTimeout, OcrError, OutOfMemory, Overloaded
from gateway.inference.endpoints import BLAMED, Endpoint, State
from gateway.inference.failures import NO_SIGN_OF_LIFE, REFUSED, failure, meaning_behind
from gateway.inference.probes import Probe, choose_probes
from gateway.metrics import ENDPOINT_PROBES, outcome_counted

KNOCK_PAUSE_S = 0.01
"""Between heartbeats that wait for a connection, should they fail at once."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How closely a server is watched.

    Attributes:
        beat_s: time between heartbeats, and the tick by which silence is counted.
        quiet_ticks: so many ticks without any answer, and others are called first.
        silent_ticks: so many, and the server hangs.
        beat_timeout_s: when a heartbeat is given up and sent anew.
        probe_interval_s: time between probes of a server that works.
        second_look_s: pause before a probe that failed for the first time is made again.
        return_interval_s: time between probes of a server that is out of rotation.
        probe_timeout_s: how long a probe may wait for its turn.
        last_look_s: how long a request waits for a sign of life before it is refused, as nobody serves.
        return_timeout_s: how long it waits, once there was a sign, for the server to be back in rotation.
        look_up_interval_s: time between two look-ups of a name in DNS.
    """

    beat_s: float = 0.2
    quiet_ticks: int = 2
    silent_ticks: int = 5
    beat_timeout_s: float = 2.0
    probe_interval_s: float = 1.5
    second_look_s: float = 0.05
    return_interval_s: float = 0.25
    probe_timeout_s: float = 10.0
    last_look_s: float = 0.01
    return_timeout_s: float = 1.0
    look_up_interval_s: float = 5.0


class Watch:
    """Leads an endpoint into rotation, out of it and back."""

    def __init__(self, endpoint: Endpoint, options: WatchOptions) -> None:
        self._endpoint = endpoint
        self._options = options
        self._there = asyncio.Event()
        self._examined = asyncio.Event()
        self._failures = 0

    async def run(self) -> None:
        """Watch for ever; cancel to stop."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen())
            tasks.create_task(self._examine_for_ever())

    async def refresh(self) -> None:
        """Read the models of a healthy endpoint again; wait until something is known of a new one.

        One that is out of rotation is examined all the time, and nothing is known better.
        """
        if not self._endpoint.known.is_set():
            await self._endpoint.known.wait()
        elif self._endpoint.healthy:
            try:
                await self._endpoint.read_contract()
            except OcrError as error:
                self._failed(error)

    async def wait_for_return(self) -> None:
        """If the server has been silent, wait a moment for a sign of life; after one, for what its models say.

        Heartbeats sent while it hung wait at its socket: if it goes on, all of them are answered within milliseconds.
        """
        if self._endpoint.state is not State.SILENT:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self._options.last_look_s):
                await self._there.wait()
            async with asyncio.timeout(self._options.return_timeout_s):
                await self._examined.wait()

    async def _examine(self) -> None:
        """Read the models of an endpoint that is not healthy, run them, and let it enter or leave the rotation."""
        endpoint = self._endpoint
        before = endpoint.error
        endpoint.trouble.clear()
        try:
            if not endpoint.healthy:
                await endpoint.read_contract()
            await self._probe_models()
        except OcrError as error:
            if endpoint.error is before:  # else it has left meanwhile, and for a better reason
                self._failed(error)
        else:
            self._failures = 0
            if endpoint.error is before:
                endpoint.enter()

    async def _listen(self) -> None:
        """Send heartbeats and count ticks without any answer.

        Ticks, not seconds: whatever stops this process stops its clock, too, and proves nothing. A heartbeat does not
        wait for the one before, so that a slow network is no silence.
        """
        silent = 0
        knocking: asyncio.Task[None] | None = None
        async with asyncio.TaskGroup() as beats:
            while True:
                if self._endpoint.state is State.SILENT and (knocking is None or knocking.done()):
                    knocking = beats.create_task(self._knock())
                signs = self._endpoint.signs_of_life
                beats.create_task(self._beat())
                await asyncio.sleep(self._options.beat_s)
                silent = silent + 1 if self._endpoint.signs_of_life == signs else 0
                self._judge_silence(silent)

    async def _knock(self) -> None:
        """While the server is silent, have a heartbeat wait that outlives the connection.

        gRPC gives that up after some seconds, and without a call that waits it makes another one only at the next beat.
        """
        while self._endpoint.state is State.SILENT:
            await self._beat(patient=True)
            await asyncio.sleep(KNOCK_PAUSE_S)

    async def _beat(self, *, patient: bool = False) -> None:
        try:
            await self._endpoint.live(timeout_s=self._options.beat_timeout_s, patient=patient)
        except OcrError as error:
            self._missed_beat(error)
        else:
            self._found()

    def _found(self) -> None:
        if not self._there.is_set():
            self._examined.clear()
            self._there.set()

    def _missed_beat(self, error: OcrError) -> None:
        meaning = meaning_behind(error)
        if meaning in BLAMED:
            self._there.clear()
            self._endpoint.leave(BLAMED[meaning], error)
        elif meaning is REFUSED:
            # The health service is closed to us, but somebody said so.
            self._endpoint.heard()
            self._found()

    def _judge_silence(self, ticks: int) -> None:
        endpoint = self._endpoint
        endpoint.quiet = ticks >= self._options.quiet_ticks
        if ticks >= self._options.silent_ticks and endpoint.healthy:
            self._there.clear()
            endpoint.leave(State.SILENT, failure("heartbeat", NO_SIGN_OF_LIFE))

    async def _examine_for_ever(self) -> None:
        while True:
            await self._there.wait()
            await self._examine()
            self._examined.set()
            await self._pause()

    async def _pause(self) -> None:
        """Until the next probe is due, or there is trouble."""
        options = self._options
        if not self._endpoint.healthy:
            await asyncio.sleep(options.return_interval_s)
        elif self._failures:
            await asyncio.sleep(options.second_look_s)
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(options.probe_interval_s):
                    await self._endpoint.trouble.wait()

    async def _probe_models(self) -> None:
        """Run the models side by side on their smallest inputs.

        Raises:
            BackendError: one does not work.
        """
        endpoint = self._endpoint
        assert endpoint.contract is not None
        doubted, endpoint.doubted = endpoint.doubted, set()
        await gather_all(self._probe(probe) for probe in choose_probes(endpoint.contract, doubted))

    async def _probe(self, probe: Probe) -> None:
        endpoint, began_at = self._endpoint, time.monotonic()
        try:
            with outcome_counted(lambda outcome: ENDPOINT_PROBES.labels(endpoint.name, outcome).inc()):
                response = await endpoint.call(probe.request(), timeout_s=self._options.probe_timeout_s)
                probe.check(response)
        except OcrError as error:
            if not self._is_busy(probe.model, error, began_at):
                raise

    def _is_busy(self, model: str, error: OcrError, began_at: float) -> bool:
        """Whether a probe failed for want of time or room that others took: that is load, and no fault."""
        if isinstance(error, (InferenceTimeout, OutOfMemory)):
            return self._endpoint.answered_since(model, began_at)
        return isinstance(error, Overloaded)

    def _failed(self, error: OcrError) -> None:
        """Believe it at once if it leaves no doubt, else when it happens twice in a row."""
        self._failures += 1
        state = BLAMED.get(meaning_behind(error))
        if state is None and self._endpoint.healthy and self._failures < 2:
            return
        default = State.NOT_READY if isinstance(error, BackendUnavailable) else State.FAILING
        self._endpoint.leave(state or default, error)
