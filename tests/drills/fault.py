"""What a fault is: a row of the table of faults, and the answers that faults explain."""

from dataclasses import dataclass, field

from tests.drills import actions
from tests.drills.actions import Action
from tests.drills.driver import LoadPlan
from tests.drills.limits import Limit
from tests.drills.stand import StandPlan

NO_REFUSALS: frozenset[str] = frozenset()
DOWN = frozenset(("backend_unavailable", "inference_timeout", "overloaded"))
"""Triton can't be reached or does not answer, and while that lasts requests may be more than the service can hold."""
FAILING = DOWN | {"inference_failed"}
OUT_OF_MEMORY = frozenset(("out_of_memory",))


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of the table.

    Attributes:
        title: what is done, in words.
        inject: does it.
        heal: ends it; whatever it restarts is ready afterwards.
        plan: what it is done to.
        codes: of problems that are a right answer to it.
        cuts: requests that are under way at a gateway that is broken may lose their connection.
        lasts_s: time from `inject` to `heal`.
        limits: what the service is held to.
        load: how it is asked.
        repeats: how often the drill is made.
    """

    title: str
    inject: Action
    heal: Action = actions.nothing
    plan: StandPlan = field(default_factory=StandPlan)
    codes: frozenset[str] = NO_REFUSALS
    cuts: bool = False
    lasts_s: float = 4.0
    limits: tuple[Limit, ...] = ()
    load: LoadPlan = field(default_factory=LoadPlan)
    repeats: int = 3
