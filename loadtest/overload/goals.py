"""The project's goals for overload, and whether they were met. Pure.

Only what does not depend on how busy the machine is makes the run fail (`binding`); the rest is reported as it is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loadtest.overload.phases import (
    BATCH,
    BATCH_ALONE,
    CALM,
    FACTORS,
    FLOOD,
    INTERACTIVE,
    JUMPS,
    MIXED,
    PAGES,
    SMALL_ALONE,
)
from loadtest.overload.results import MEGABYTE, StandResult

ALONE, NGINX = "alone", "behind nginx"
GOODPUT: Mapping[str, Mapping[float, float]] = {
    ALONE: {2.0: 0.85, 5.0: 0.65, 10.0: 0.50},
    NGINX: {2.0: 0.95, 5.0: 0.90, 10.0: 0.70},
}
MOST_FACTOR = 2.0
REFUSAL_P99_S = 0.05
EARLY_SHARE = 0.99
MOST_GROWTH = 50 * MEGABYTE
RECOVERY_S = 2.0
INTERACTIVE_SHARE = 0.995
SMALL_SHARE = 0.99


@dataclass(frozen=True, slots=True)
class Judgement:
    """One goal, and what came of it.

    Attributes:
        goal: its id.
        promise: in words, with the limit.
        measured: in words.
        met: see there.
        binding: whether the run fails if it is not.
    """

    goal: str
    promise: str
    measured: str
    met: bool
    binding: bool = False


def judge(result: StandResult, deadline_s: float, pixels: int) -> Iterator[Judgement]:
    """All goals.

    Args:
        result: of one stand.
        deadline_s: of the requests.
        pixels: that may be under way.
    """
    yield from _answers(result)
    yield from _goodput(result)
    yield _accepted(result, deadline_s)
    yield from _refusals(result)
    yield from _recovery(result)
    yield from _priorities(result)
    yield from _work(result, pixels)


def _answers(result: StandResult) -> Iterator[Judgement]:
    streams = [stream for phase in result.phases.values() for stream in phase.streams.values()]
    sent, refused = sum(one.sent for one in streams), sum(one.refused for one in streams)
    wrong = sum(one.unanswered + one.twice for one in streams)
    yield Judgement("answers", "every request answered once", f"{wrong} of {sent:,} not", wrong == 0, binding=True)
    rude = sum(one.rude for one in streams)
    yield Judgement("O3", "Retry-After on every refusal", f"{rude} of {refused:,} without", rude == 0, binding=True)
    early, late = result.refusals
    if result.name == ALONE:  # nginx keeps its client's connections as it likes
        left = sum(one.open for one in streams)
        promise = "every refusal before the body is read closes"
        measured = f"{left} of {refused:,} do not, {late} came later"
        yield Judgement("O3", promise, measured, left <= late, binding=True)
    share = early / max(1, early + late)
    promise = f"refusals before the body is read >= {EARLY_SHARE:.0%}"
    yield Judgement("O3", promise, f"{share:.1%}", share >= EARLY_SHARE)


def _goodput(result: StandResult) -> Iterator[Judgement]:
    for factor, least in GOODPUT[result.name].items():
        share = result.stream(f"{factor:g} x", PAGES).goodput / result.peak
        yield Judgement("O1", f"goodput at {factor:g} x the peak >= {least:.0%} of it", f"{share:.0%}", share >= least)


def _accepted(result: StandResult, deadline_s: float) -> Judgement:
    calm = result.stream(f"{CALM:g} x", PAGES).accepted_p99_s
    busy = result.stream(f"{FACTORS[-1]:g} x", PAGES).accepted_p99_s
    promise = f"p99 of pages at {FACTORS[-1]:g} x <= {MOST_FACTOR:g} times that at {CALM:g} x, and <= the deadline"
    met = calm is not None and busy is not None and busy <= min(MOST_FACTOR * calm, deadline_s)
    return Judgement("O2", promise, f"{milliseconds(busy)} and {milliseconds(calm)}", met)


def _refusals(result: StandResult) -> Iterator[Judgement]:
    p99_s = result.stream(f"{FACTORS[-1]:g} x", PAGES).refused_p99_s
    promise = f"p99 of refusals at {FACTORS[-1]:g} x <= {milliseconds(REFUSAL_P99_S)}"
    yield Judgement("O3", promise, milliseconds(p99_s), p99_s is not None and p99_s <= REFUSAL_P99_S)
    growth = max(result.phases[f"{factor:g} x"].growth_bytes for factor in FACTORS)
    promise = f"memory grows by <= {MOST_GROWTH / MEGABYTE:.0f} MB"
    yield Judgement("O3", promise, f"{growth / MEGABYTE:.0f} MB", growth <= MOST_GROWTH)


def _recovery(result: StandResult) -> Iterator[Judgement]:
    for name in JUMPS:
        took_s = result.jumps[name].recovered_s
        measured = "not at all" if took_s is None else f"{took_s:.1f} s"
        promise = f"{name}: 95 % of the goodput before, {RECOVERY_S:g} s after the flood"
        yield Judgement("O4", promise, measured, took_s is not None and took_s <= RECOVERY_S)


def _priorities(result: StandResult) -> Iterator[Judgement]:
    share = result.stream(FLOOD.name, INTERACTIVE).share_good
    promise = (
        f"pages for interactive requests while batch floods at {FLOOD.parts[1].factor:g} x >= {INTERACTIVE_SHARE:.1%}"
    )
    yield Judgement("O5", promise, f"{share:.2%}", share >= INTERACTIVE_SHARE)
    share = result.stream(BATCH_ALONE.name, BATCH).share_good
    promise = f"pages for batch requests alone at {BATCH_ALONE.parts[0].factor:g} x >= {INTERACTIVE_SHARE:.1%}"
    yield Judgement("O5", promise, f"{share:.2%}", share >= INTERACTIVE_SHARE)


def _work(result: StandResult, pixels: int) -> Iterator[Judgement]:
    seen = max(phase.pixels for phase in result.phases.values())
    yield Judgement("O7", "pixels under way within the budget", f"{seen:,} of {pixels:,}", seen <= pixels, binding=True)
    alone, mixed = result.stream(SMALL_ALONE.name, PAGES), result.stream(MIXED.name, PAGES)
    promise = f"pages among huge ones (1 to {MIXED.parts[0].factor / MIXED.parts[1].factor:.0f}) >= {SMALL_SHARE:.0%}"
    yield Judgement("O7", promise, f"{mixed.share_good:.2%}", mixed.share_good >= SMALL_SHARE)
    measured = f"{milliseconds(mixed.accepted_p99_s)} and {milliseconds(alone.accepted_p99_s)}"
    met = None not in (mixed.accepted_p99_s, alone.accepted_p99_s) and (
        (mixed.accepted_p99_s or 0.0) <= MOST_FACTOR * (alone.accepted_p99_s or 0.0)
    )
    yield Judgement("O7", f"their p99 <= {MOST_FACTOR:g} times that without huge ones", measured, met)


def milliseconds(seconds: float | None) -> str:
    """For tables; a dash if there is nothing."""
    return "-" if seconds is None else f"{1000 * seconds:.0f} ms"
