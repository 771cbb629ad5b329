"""One release: staged, loaded, read with, judged, switched; or nothing has changed."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gateway.errors import BackendUnavailable, OcrError
from gateway.inference.control import TritonControl
from gateway.rollout.golden import Golden, Reading, mark, refusal
from gateway.rollout.reading import read_golden
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
    """

    repository: Path
    addresses: tuple[str, ...]
    key: str


async def deploy(source: Path, target: Target, golden: Sequence[Golden], say: Say) -> None:
    """Put the models of `source` in the place of those that serve.

    Raises:
        Refused: they read worse; nothing has changed.
        BackendUnavailable: a Triton did not load them; all are back at the old ones.
        RepositoryError: they are other models.
    """
    await verify(source, target, golden, say)
    names = releases.adopt(source, target.repository)
    async with _controls(target) as controls:
        try:
            await _load_everywhere(controls, names, say)
        except BackendUnavailable:
            say("going back")
            await _load_everywhere(controls, releases.go_back(target.repository), say)
            raise


async def verify(source: Path, target: Target, golden: Sequence[Golden], say: Say) -> None:
    """Load the models on the first Triton under names that nobody asks for, and read the golden pictures with them.

    Raises:
        Refused: they read worse than those that serve, or not at all.
        BackendUnavailable: Triton did not load them.
    """
    first = target.addresses[0]
    serving = mark(golden, await read_golden(first, golden))
    async with TritonControl(first, target.key) as control, _staged(source, target, control, say):
        candidate = mark(golden, await _read_with_candidate(first, golden))
    for name, marks in (("serving", serving), ("candidate", candidate)):
        say(f"{name}: {marks.accuracy:.1%} of the characters, mean score {marks.score:.3f}, {len(golden)} pictures")
    if reason := refusal(serving, candidate):
        raise Refused(f"refused: {reason}")


async def roll_back(target: Target, say: Say) -> None:
    """Go back to how it was before the last release.

    Raises:
        RepositoryError: there is no such.
        BackendUnavailable: a Triton did not load it.
    """
    names = releases.go_back(target.repository)
    async with _controls(target) as controls:
        await _load_everywhere(controls, names, say)


async def _read_with_candidate(address: str, golden: Sequence[Golden]) -> list[Reading]:
    try:
        return await read_golden(address, golden, prefix=releases.CANDIDATE)
    except OcrError as error:
        raise Refused(f"refused: {error.detail}") from error


async def _load_everywhere(controls: Sequence[TritonControl], names: Sequence[str], say: Say) -> None:
    """One Triton after the other, one model after the other: what serves goes on until what follows is ready."""
    for control in controls:
        for name in names:
            await control.load(name)
        say(f"{control.address}: {', '.join(names)} loaded")


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
        controls = [TritonControl(address, target.key) for address in target.addresses]
        yield [await stack.enter_async_context(control) for control in controls]
