"""Made-up results for the tests of goals, reports and pictures."""

from collections.abc import Mapping
from dataclasses import replace

from loadtest.overload.phases import JUMP, RETRYING, SINGLE
from loadtest.overload.results import MEGABYTE, JumpResult, PhaseResult, StandResult, StreamResult

STREAM = StreamResult("pages", 100.0, 3000, 3000, 99.0, 30, {}, 0, 0, 0, 0, 0.1, 0.02, 0.005)
JUMPED = JumpResult(50.0, 0.4, (50.0, 60.0, 20.0, 50.0), (0.5, 1.5))


def stand(name: str = "alone", *, recovered_s: float | None = 0.4, **changes: object) -> StandResult:
    """A stand that meets every goal, but for the changes to each of its streams."""
    phases = {
        phase.name: _phase({part.name: replace(STREAM, name=part.name) for part in phase.parts}) for phase in SINGLE
    }
    changed = {
        phase: replace(one, streams={key: replace(value, **changes) for key, value in one.streams.items()})
        for phase, one in phases.items()
    }
    jumped = replace(JUMPED, recovered_s=recovered_s)
    return StandResult(name, 100.0, changed, {JUMP: jumped, RETRYING: jumped}, (990, 10))


def _phase(streams: Mapping[str, StreamResult]) -> PhaseResult:
    return PhaseResult(streams, (200 * MEGABYTE, 230 * MEGABYTE), 1_000_000, 29.1, 30.0)
