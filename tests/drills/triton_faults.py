"""Faults of Triton itself: one of one, and one of two."""

import signal
from collections.abc import Mapping
from types import MappingProxyType

from tests.drills import actions
from tests.drills.fault import DOWN, Fault
from tests.drills.limits import (
    ALWAYS,
    HANG,
    Limit,
    back_within,
    failing_within,
    few_at_once,
    noted,
    nothing_failed,
    refused_quickly,
)
from tests.drills.stand import StandPlan

TWO_TRITONS = StandPlan(tritons=2)
GONE = (*ALWAYS, refused_quickly("O9", 0.02), back_within("O11", 2.0))


def _node_back(outage_s: float, repeats: int = 3) -> Fault:
    return Fault(
        f"one of two Tritons is killed and comes back after {outage_s:g} s",
        actions.signal_triton(signal.SIGKILL),
        actions.restart_and_see_traffic,
        plan=TWO_TRITONS,
        codes=DOWN,
        lasts_s=outage_s,
        limits=(*ALWAYS, Limit("O11", "from ready to traffic", noted("traffic_s"), 2.0)),
        repeats=repeats,
    )


TRITON_FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
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
            limits=(*ALWAYS, nothing_failed("O10")),
        ),
        "one-of-two-stopped": Fault(
            "one of two Tritons is stopped and goes on after 5 s",
            actions.signal_triton(signal.SIGSTOP),
            actions.signal_triton(signal.SIGCONT),
            plan=TWO_TRITONS,
            codes=DOWN,
            lasts_s=5.0,
            limits=(*ALWAYS, failing_within("O10", 1.0), few_at_once("O10", 0.05)),
        ),
        "one-of-two-terminated": Fault(
            "one of two Tritons is told to end and started again",
            actions.signal_triton(signal.SIGTERM),
            actions.restart_triton,
            plan=TWO_TRITONS,
            codes=DOWN,
            limits=(*ALWAYS, nothing_failed("R4")),
        ),
        "back-after-5-s": _node_back(5.0),
        "back-after-40-s": _node_back(40.0),
        "back-after-180-s": _node_back(180.0, repeats=1),
    }
)
