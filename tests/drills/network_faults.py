"""Faults of the way to Triton, which a proxy makes."""

from collections.abc import Mapping
from types import MappingProxyType

from tests.drills import actions
from tests.drills.fault import DOWN, Fault
from tests.drills.limits import ALWAYS, HANG, back_within
from tests.drills.proxy import Behaviour
from tests.drills.stand import StandPlan

PROXIED = StandPlan(proxied=True)
BAD_WAY = (*ALWAYS, back_within("O11", 2.0))

NETWORK_FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
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
    }
)
