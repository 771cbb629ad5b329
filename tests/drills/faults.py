"""The table of faults: what is broken, how it is mended, which answers it explains, and what the service is held to."""

from collections.abc import Mapping
from types import MappingProxyType

from tests.drills import actions
from tests.drills.fault import Fault
from tests.drills.gateway_faults import GATEWAY_FAULTS
from tests.drills.limits import ALWAYS, nothing_failed
from tests.drills.model_faults import MODEL_FAULTS
from tests.drills.network_faults import NETWORK_FAULTS
from tests.drills.triton_faults import TRITON_FAULTS

FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "none": Fault("nothing", actions.nothing, limits=(*ALWAYS, nothing_failed("ledger"))),
        **TRITON_FAULTS,
        **MODEL_FAULTS,
        **NETWORK_FAULTS,
        **GATEWAY_FAULTS,
    }
)

SHORT = (
    "triton-killed",
    "triton-stopped",
    "one-of-two-terminated",
    "stub-dead",
    "port-reset",
    "clients-leave",
    "version-broken",
)
"""The drills that CI makes, once each."""
