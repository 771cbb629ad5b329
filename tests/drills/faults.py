"""The table of faults: what is broken, how it is mended, which answers it explains, and what the service is held to."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tests.drills import actions
from tests.drills.actions import Action
from tests.drills.driver import LoadPlan
from tests.drills.limits import (
    ALIVE,
    IN_TIME,
    Limit,
    back_within,
    detected_within,
    failing_within,
    few_at_once,
    noted,
    nothing_failed,
    refused_quickly,
    slowed_within,
)
from tests.drills.pages import FULL_CHUNKS
from tests.drills.proxy import Behaviour
from tests.drills.stand import StandPlan

NO_REFUSALS: frozenset[str] = frozenset()
DOWN = frozenset(("backend_unavailable", "inference_timeout", "overloaded"))
"""Triton can't be reached or does not answer, and while that lasts requests may be more than the service can hold."""
FAILING = DOWN | {"inference_failed"}
OUT_OF_MEMORY = frozenset(("out_of_memory",))
DRAINING = frozenset(("draining",))

ONE = StandPlan()
TWO_TRITONS = StandPlan(tritons=2)
PROXIED = StandPlan(proxied=True)
EXPLICIT = StandPlan(explicit=True)
TWO_GATEWAYS = StandPlan(gateways=2, nginx=True)

CHUNK_PIXELS = 8 * 48 * 320
CHUNK_BYTES = 3 * CHUNK_PIXELS
"""Of the recognition calls in the drill of memory: few enough lines for a page to fill some."""
SMALL_CHUNKS = StandPlan(settings={"OCR_MAX_CHUNK_PIXELS": str(CHUNK_PIXELS)})


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
    plan: StandPlan = ONE
    codes: frozenset[str] = NO_REFUSALS
    cuts: bool = False
    lasts_s: float = 4.0
    limits: tuple[Limit, ...] = ()
    load: LoadPlan = field(default_factory=LoadPlan)
    repeats: int = 3


HANG = (IN_TIME, ALIVE, detected_within("O9", 1.5), refused_quickly("O9", 0.02), back_within("O9", 1.0))
GONE = (IN_TIME, ALIVE, refused_quickly("O9", 0.02), back_within("O11", 2.0))
ONE_OF_TWO = (IN_TIME, ALIVE)
ZOMBIE = (IN_TIME, ALIVE, detected_within("O14", 3.0))
UNTOUCHED = (IN_TIME, ALIVE)
BAD_WAY = (IN_TIME, ALIVE, back_within("O11", 2.0))


def _node_back(outage_s: float, repeats: int = 3) -> Fault:
    return Fault(
        f"one of two Tritons is killed and comes back after {outage_s:g} s",
        actions.signal_triton(signal.SIGKILL),
        actions.restart_and_see_traffic,
        plan=TWO_TRITONS,
        codes=DOWN,
        lasts_s=outage_s,
        limits=(*ONE_OF_TWO, Limit("O11", "from ready to traffic", noted("traffic_s"), 2.0)),
        repeats=repeats,
    )


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "none": Fault("nothing", actions.nothing, limits=(IN_TIME, ALIVE, nothing_failed("ledger"))),
        "triton-killed": Fault(
            "the only Triton is killed (SIGKILL) and started again",
            actions.signal_triton(signal.SIGKILL),
            actions.restart_triton,
            codes=DOWN,
            limits=GONE,
        ),
        "triton-stopped": Fault(
            "the only Triton is stopped (SIGSTOP) and goes on after 5 s",
            actions.signal_triton(signal.SIGSTOP),
            actions.signal_triton(signal.SIGCONT),
            codes=DOWN,
            lasts_s=5.0,
            limits=HANG,
        ),
        "triton-terminated": Fault(
            "the only Triton is told to end (SIGTERM) and started again",
            actions.signal_triton(signal.SIGTERM),
            actions.restart_triton,
            codes=DOWN,
            limits=GONE,
        ),
        "one-of-two-killed": Fault(
            "one of two Tritons is killed and started again",
            actions.signal_triton(signal.SIGKILL),
            actions.restart_triton,
            plan=TWO_TRITONS,
            codes=DOWN,
            limits=(*ONE_OF_TWO, nothing_failed("O10")),
        ),
        "one-of-two-stopped": Fault(
            "one of two Tritons is stopped and goes on after 5 s",
            actions.signal_triton(signal.SIGSTOP),
            actions.signal_triton(signal.SIGCONT),
            plan=TWO_TRITONS,
            codes=DOWN,
            lasts_s=5.0,
            limits=(*ONE_OF_TWO, failing_within("O10", 1.0), few_at_once("O10", 0.05)),
        ),
        "one-of-two-terminated": Fault(
            "one of two Tritons is told to end and started again",
            actions.signal_triton(signal.SIGTERM),
            actions.restart_triton,
            plan=TWO_TRITONS,
            codes=DOWN,
            limits=(*ONE_OF_TWO, nothing_failed("R4")),
        ),
        "back-after-5-s": _node_back(5.0),
        "back-after-40-s": _node_back(40.0),
        "back-after-180-s": _node_back(180.0, repeats=1),
        "stub-dead": Fault(
            "the recogniser's process is killed; Triton calls itself ready and is started again",
            actions.kill_stub,
            actions.restart_triton,
            codes=FAILING,
            lasts_s=5.0,
            limits=ZOMBIE,
        ),
        "model-internal": Fault(
            "the recogniser answers INTERNAL, every time",
            actions.spoil_model(fail=True),
            actions.mend_model,
            codes=FAILING,
            lasts_s=5.0,
            limits=(*ZOMBIE, back_within("O14", 10.0)),
        ),
        "model-out-of-memory": Fault(
            "the recogniser runs out of memory with more than half a chunk",
            actions.spoil_model(memory_bytes=CHUNK_BYTES // 2),
            actions.mend_memory,
            plan=SMALL_CHUNKS,
            codes=OUT_OF_MEMORY,
            lasts_s=5.0,
            limits=(
                *UNTOUCHED,
                nothing_failed("O13"),
                Limit("O13", "calls of one bucket that ran out of memory", noted("splits_of_a_bucket"), 2, unit=""),
            ),
            load=LoadPlan(rate=15.0, pattern=FULL_CHUNKS),
        ),
        "model-slow": Fault(
            "the recogniser takes half a second longer, which is more than there is time for",
            actions.spoil_model(slow_s=0.5),
            actions.mend_model,
            codes=DOWN,
            lasts_s=6.0,
            limits=(IN_TIME, ALIVE, back_within("O4", 2.0)),
        ),
        "version-broken": Fault(
            "a new version of the recogniser can't be loaded",
            actions.load_version(2, broken=True),
            actions.withdraw_version(2),
            plan=EXPLICIT,
            limits=(*UNTOUCHED, nothing_failed("M4")),
        ),
        "configuration-broken": Fault(
            "the recogniser's new configuration can't be read",
            actions.break_configuration,
            actions.mend_configuration,
            plan=EXPLICIT,
            limits=(*UNTOUCHED, nothing_failed("M4")),
        ),
        "version-new": Fault(
            "a new version of the recogniser is loaded beside the old one and takes over",
            actions.load_version(2, broken=False),
            plan=EXPLICIT,
            limits=(*UNTOUCHED, nothing_failed("R5")),
        ),
        "port-blackholed": Fault(
            "Triton's port takes connections and nothing goes through",
            actions.treat_connections(Behaviour(blackhole=True)),
            actions.mend_connections,
            plan=PROXIED,
            codes=DOWN,
            lasts_s=5.0,
            limits=HANG,
        ),
        "port-reset": Fault(
            "connections to Triton are reset after 2,000 bytes of answers",
            actions.treat_connections(Behaviour(reset_after=2_000)),
            actions.mend_connections,
            plan=PROXIED,
            codes=DOWN,
            limits=BAD_WAY,
        ),
        "port-late": Fault(
            "Triton's answers are 500 ms late",
            actions.treat_connections(Behaviour(latency_s=0.25)),
            actions.mend_connections,
            plan=PROXIED,
            codes=DOWN,
            lasts_s=6.0,
            limits=BAD_WAY,
        ),
        "port-narrow": Fault(
            "10 KB a second go to Triton and back",
            actions.treat_connections(Behaviour(bytes_per_s=10_000)),
            actions.mend_connections,
            plan=PROXIED,
            codes=DOWN,
            lasts_s=6.0,
            limits=BAD_WAY,
        ),
        "gateway-terminated": Fault(
            "one of two gateways behind nginx is told to end and started again",
            actions.signal_gateway(signal.SIGTERM),
            actions.restart_gateway,
            plan=TWO_GATEWAYS,
            lasts_s=0.5,
            limits=(
                IN_TIME,
                nothing_failed("R1"),
                Limit("R2", "exit code", noted("exit_code"), 0, unit=""),
                Limit("R2", "from SIGTERM to the exit", noted("exit_s"), 9.0),
            ),
        ),
        "gateway-killed": Fault(
            "one of two gateways behind nginx is killed and started again",
            actions.signal_gateway(signal.SIGKILL),
            actions.restart_gateway,
            plan=TWO_GATEWAYS,
            cuts=True,
            limits=(IN_TIME, failing_within("M7", 3.0), Limit("M7", "from start to ready", noted("start_s"), 3.0)),
        ),
        "gateway-frozen": Fault(
            "the event loop of one of two gateways behind nginx stands still for 10 s (SIGSTOP)",
            actions.signal_gateway(signal.SIGSTOP),
            actions.signal_gateway(signal.SIGCONT),
            plan=TWO_GATEWAYS,
            cuts=True,
            lasts_s=10.0,
            limits=(slowed_within("M8", 6.0),),
        ),
        "clients-leave": Fault(
            "a third of the clients close the connection within 40 ms",
            actions.nothing,
            limits=(*UNTOUCHED, nothing_failed("ledger")),
            load=LoadPlan(leaving=0.33),
            lasts_s=6.0,
        ),
        "disk-full": Fault(
            "no file of the gateway can grow, its log included",
            actions.fill_disk,
            actions.free_disk,
            limits=(*UNTOUCHED, nothing_failed("M9")),
        ),
    }
)

SHORT = ("triton-killed", "triton-stopped", "stub-dead", "port-reset", "clients-leave", "version-broken")
"""The drills that CI makes, once each."""
