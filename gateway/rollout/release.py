"""One release: staged, loaded, read with, judged, switched; or nothing has changed.

Whatever interrupts a switch, the folder tells that it began (`triton_models.releases.unfinished`), and a further
`deploy` or `roll_back` leads to an end, for both begin with how it was before.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gateway.errors import BackendUnavailable, InferenceTimeout, OcrError, Overloaded
from gateway.inference.channels import TritonTls
from gateway.inference.checkup import check_up
from gateway.inference.control import TritonControl
from gateway.rollout.golden import Golden, Reading, mark, refusal
from gateway.rollout.reading import ANSWER_TIMEOUT_S, read_golden
from triton_models import releases

Say = Callable[[str], None]


class Refused(Exception):
    """The new models must not serve; the old ones do, as before. The message says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where to release.

    Attributes:
        repository: the folder that the Tritons have their models from.
        addresses: host:port of each Triton's gRPC API.
        key: for loading models; empty if none is wanted.
        tls: how connections are encrypted, if they are.
    """

    repository: Path
    addresses: tuple[str, ...]
    key: str
    tls: TritonTls | None = None

    def control(self, address: str) -> TritonControl:
        """To load models there."""
        return TritonControl(address, self.key, tls=self.tls)


async def deploy(source: Path, target: Target, golden: Sequence[Golden], say: Say) -> None:
    """Put the models of `source` in the place of those that serve, on all Tritons or on none.

    Raises:
        Refused: they read worse; nothing has changed.
        BackendUnavailable: a Triton did not load them; all are back at the old ones, or it says which are not.
        OcrError: a Triton does not work as it is; nothing has changed.
        RepositoryError: they are other models.
    """
    await verify(source, target, golden, say)
    names = releases.adopt(source, target.repository)
    await _load_on_all(target, names, say, undoing="going back", undo=_go_back)
    releases.settle(target.repository, forget=False)


async def offer(source: Path, target: Target, golden: Sequence[Golden], say: Say, *, share: float) -> None:
    """Have the models of `source` read so many per cent of the requests, and those that ask for them.

    Errors as of `deploy`.
    """
    await verify(source, target, golden, say)
    names = releases.stage(source, target.repository, share=share)
    await _load_on_all(target, names, say, undoing="withdrawing it", undo=_withdraw)


async def verify(source: Path, target: Target, golden: Sequence[Golden], say: Say) -> None:
    """Load the models on the first Triton under names that nobody asks for, and read the golden pictures with them.

    A switch that was interrupted is taken back first, a candidate that gateways know of is withdrawn.

    Raises:
        Refused: they read worse than those that serve, or not at all.
        BackendUnavailable: Triton did not load them.
        OcrError: a Triton does not work as it is.
    """
    await _clear(target, say)
    first = target.addresses[0]
    serving = mark(golden, await read_golden(first, golden, tls=target.tls))
    async with target.control(first) as control, _staged(source, target, control, say):
        candidate = mark(golden, await _read_with_candidate(target, golden))
    for name, marks in (("serving", serving), ("candidate", candidate)):
        say(f"{name}: {marks.accuracy:.1%} of the characters, mean score {marks.score:.3f}, {len(golden)} pictures")
    if reason := refusal(serving, candidate):
        raise Refused(f"refused: {reason}")


async def roll_back(target: Target, say: Say) -> None:
    """Withdraw a candidate that reads a share; else go back to how it was before the last release.

    Raises:
        RepositoryError: there is no such.
        BackendUnavailable: a Triton did not do it; it says which, and the others did.
    """
    async with _controls(target) as controls:
        if releases.candidates_of(target.repository):
            await _withdraw(controls, target, say)
            if not releases.unfinished(target.repository):
                return
        await _go_back(controls, target, say)


async def _clear(target: Target, say: Say) -> None:
    """Have every Triton in order before anything is changed."""
    async with _controls(target) as controls:
        if releases.candidates_of(target.repository):
            await _withdraw(controls, target, say)
        if what := releases.unfinished(target.repository):
            say(f"a {what} was interrupted: going back first")
            await _go_back(controls, target, say)
    for address in target.addresses:
        await _require_sound(address, target.tls)


async def _require_sound(address: str, tls: TritonTls | None) -> None:
    try:
        await check_up(address, answer_s=ANSWER_TIMEOUT_S, tls=tls)
    except OcrError as error:
        raise BackendUnavailable(f"{address} does not work as it is: {error.detail}; nothing was changed") from error


async def _go_back(controls: Sequence[TritonControl], target: Target, say: Say) -> None:
    names = releases.go_back(target.repository)
    await _everywhere(controls, lambda control: _load(control, names, say))
    releases.settle(target.repository, forget=True)


async def _withdraw(controls: Sequence[TritonControl], target: Target, say: Say) -> None:
    names = releases.candidates_of(target.repository)
    await _everywhere(controls, lambda control: _unload(control, names, say))
    releases.unstage(target.repository)


async def _everywhere(controls: Sequence[TritonControl], act: Callable[[TritonControl], Awaitable[None]]) -> None:
    """Act on each Triton, whatever became of the others.

    Raises:
        BackendUnavailable: some did not do it; it names them.
    """
    stayed = []
    for control in controls:
        try:
            await act(control)
        except BackendUnavailable as error:
            stayed.append(error.detail)
    if stayed:
        raise BackendUnavailable(f"{'; '.join(stayed)}. All others did; once it answers, run rollback")


async def _read_with_candidate(target: Target, golden: Sequence[Golden]) -> list[Reading]:
    try:
        return await read_golden(target.addresses[0], golden, prefix=releases.CANDIDATE, tls=target.tls)
    except (BackendUnavailable, InferenceTimeout, Overloaded):
        raise  # the server's affair, not theirs
    except OcrError as error:
        raise Refused(f"refused: {error.detail}") from error


async def _load_on_all(
    target: Target,
    names: Sequence[str],
    say: Say,
    *,
    undoing: str,
    undo: Callable[[Sequence[TritonControl], Target, Say], Awaitable[None]],
) -> None:
    """On every Triton, or, if one does not, on none: then it is undone on all."""
    async with _controls(target) as controls:
        try:
            for control in controls:
                await _load(control, names, say)
        except BackendUnavailable as error:
            say(f"{error.detail}; {undoing}")
            await undo(controls, target, say)
            raise


async def _load(control: TritonControl, names: Sequence[str], say: Say) -> None:
    """One model after the other: what serves goes on until what follows is ready."""
    for name in names:
        await control.load(name)
    say(f"{control.address}: {', '.join(names)} loaded")


async def _unload(control: TritonControl, names: Sequence[str], say: Say) -> None:
    for name in names:
        await control.unload(name)
    say(f"{control.address}: {', '.join(names)} unloaded")


@asynccontextmanager
async def _staged(source: Path, target: Target, control: TritonControl, say: Say) -> AsyncIterator[None]:
    names = releases.stage(source, target.repository)
    try:
        for name in names:
            await control.load(name)
        say(f"{control.address}: {', '.join(names)} loaded, to be tried")
        yield
    finally:
        for name in names:
            with suppress(BackendUnavailable):  # it says why it failed itself
                await control.unload(name)
        releases.unstage(target.repository)


@asynccontextmanager
async def _controls(target: Target) -> AsyncIterator[list[TritonControl]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(target.control(address)) for address in target.addresses]
