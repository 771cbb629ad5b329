"""Faults of gateways, of their clients and their disk; and of the pair that `ocr-gateway serve` keeps up."""

import signal
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from tests.drills import actions
from tests.drills.driver import LoadPlan
from tests.drills.fault import FAILING, Fault
from tests.drills.limits import (
    ALWAYS,
    IN_TIME,
    Limit,
    failing_within,
    noted,
    nothing_failed,
    outage_within,
    slowed_within,
)
from tests.drills.pages import Kind
from tests.drills.stand import StandPlan

TWO_GATEWAYS = StandPlan(gateways=2, nginx=True)
LONG_REQUESTS = LoadPlan(rate=8.0, pattern=(Kind.LINE, Kind.DENSE))
"""So that some are under way when a gateway is killed."""
ONE_LESS = frozenset(("overloaded", "inference_timeout"))
"""The other gateway may have too much to do."""
PAIR = StandPlan(supervised=True)

GATEWAY_FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
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
            load=LONG_REQUESTS,
            codes=ONE_LESS,
            cuts=True,
            limits=(IN_TIME, failing_within("M7", 3.0), Limit("M7", "from start to ready", noted("start_s"), 3.0)),
        ),
        "gateway-frozen": Fault(
            "the event loop of one of two gateways behind nginx stands still (SIGSTOP), and its watchdog kills it",
            actions.signal_gateway(signal.SIGSTOP),
            actions.await_watchdog,
            plan=replace(TWO_GATEWAYS, watchdog=True),
            load=LONG_REQUESTS,
            codes=ONE_LESS,
            cuts=True,
            lasts_s=0.0,
            limits=(slowed_within("M8", 6.0),),
        ),
        "clients-leave": Fault(
            "a third of the clients close the connection within 40 ms",
            actions.nothing,
            limits=(*ALWAYS, nothing_failed("ledger")),
            load=LoadPlan(leaving=0.33),
            lasts_s=6.0,
        ),
        "disk-full": Fault(
            "no file of the gateway can grow, its log included",
            actions.fill_disk,
            actions.free_disk,
            limits=(
                *ALWAYS,
                nothing_failed("M9"),
                Limit("M9", "from room on the disk to the line that says what is missing", noted("said_s"), 2.0),
            ),
        ),
        "pair-killed": Fault(
            "the Triton of `ocr-gateway serve` is killed, and left to its supervisor",
            actions.signal_triton(signal.SIGKILL),
            actions.await_supervisor,
            plan=PAIR,
            codes=FAILING,
            lasts_s=0.0,
            limits=(*ALWAYS, outage_within("M1", 10.0)),
        ),
        "pair-hung": Fault(
            "the Triton of `ocr-gateway serve` is stopped for ever, and left to its supervisor",
            actions.signal_triton(signal.SIGSTOP),
            actions.await_supervisor,
            plan=PAIR,
            codes=FAILING,
            lasts_s=0.0,
            limits=(*ALWAYS, outage_within("M2", 15.0)),
        ),
        "pair-zombie": Fault(
            "the recogniser's process is killed, and left to the supervisor of `ocr-gateway serve`",
            actions.kill_stub,
            actions.await_supervisor,
            plan=PAIR,
            codes=FAILING,
            lasts_s=0.0,
            limits=(*ALWAYS, outage_within("M3", 15.0)),
        ),
    }
)
