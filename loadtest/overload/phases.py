"""What is done to the gateway, as a table: phases of so many times its peak."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from loadtest.overload.client import Client
from loadtest.overload.load import Stream
from loadtest.overload.pages import huge_page, page

CALM, RECOVERING = 0.9, 0.7
FACTORS = (2.0, 5.0, 10.0)
PAGES, INTERACTIVE, BATCH, HUGE = "pages", "interactive", "batch", "huge"
RETRIES = 3


@dataclass(frozen=True, slots=True)
class Part:
    """A stream, in multiples of the peak.

    Attributes:
        name: of the stream.
        factor: requests offered, per page that the gateway can answer at its peak.
        retries: see `Stream`.
    """

    name: str
    factor: float
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Phase:
    """Load that stays the same for a time.

    Attributes:
        name: in results.
        parts: streams at the same time.
        share: of the usual length.
    """

    name: str
    parts: tuple[Part, ...]
    share: float = 1.0


def steady(factor: float) -> Phase:
    """Pages, so many times the peak."""
    return Phase(f"{factor:g} x", (Part(PAGES, factor),))


def jump(name: str, retries: int) -> tuple[Phase, ...]:
    """A load that the gateway can bear, then one that it can't, then the first again."""
    return (
        Phase(f"{name}: before", (Part(PAGES, RECOVERING, retries),), 1 / 3),
        Phase(f"{name}: flood", (Part(PAGES, FACTORS[-1], retries),), 1 / 3),
        Phase(f"{name}: after", (Part(PAGES, RECOVERING, retries),), 1 / 3),
    )


JUMP, RETRYING = "jump", "jump, clients try again"
JUMPS: Mapping[str, tuple[Phase, ...]] = {JUMP: jump(JUMP, 0), RETRYING: jump(RETRYING, RETRIES)}

FLOOD = Phase("batch floods", (Part(INTERACTIVE, 0.3), Part(BATCH, 12.0)), 2 / 3)
BATCH_ALONE = Phase("batch alone", (Part(BATCH, 0.3),), 1 / 3)
SMALL_ALONE = Phase("pages alone", (Part(PAGES, 0.3),), 1 / 3)
MIXED = Phase("huge among pages", (Part(PAGES, 0.3), Part(HUGE, 0.015)), 2 / 3)

STEADY = tuple(steady(factor) for factor in (CALM, *FACTORS))
SINGLE = (*STEADY, BATCH_ALONE, FLOOD, SMALL_ALONE, MIXED)


class Requests:
    """The bytes of each kind of request."""

    def __init__(self, client: Client) -> None:
        ask_for_page = partial(client.request, page())
        self._requests = {
            PAGES: ask_for_page(),
            INTERACTIVE: ask_for_page(X_Priority="interactive"),
            BATCH: ask_for_page(X_Priority="batch"),
            HUGE: client.request(huge_page()),
        }

    @property
    def page(self) -> bytes:
        """The usual one."""
        return self._requests[PAGES]

    def streams(self, phase: Phase, peak: float) -> list[Stream]:
        """A phase's streams, in requests per second."""
        return [Stream(part.name, part.factor * peak, self._requests[part.name], part.retries) for part in phase.parts]
