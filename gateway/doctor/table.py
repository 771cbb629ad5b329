"""Every check there is, in the order in which a chain asks. docs/doctor.md has a line for each."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from gateway.doctor import (
    connections,
    counters,
    exposure,
    fleet,
    machine,
    models,
    server,
    service,
    triton_log,
)
from gateway.doctor.examination import Check
from gateway.doctor.findings import Verdict
from gateway.doctor.pages import Looks, MetricsPage
from gateway.doctor.targets import FleetTarget, MachineTarget, TritonTarget, WebTarget

RESTART = "see whether it hangs; restart it"
MODELS = "see docs/models.md: the repository that Triton loads must be one that the gateway's builder made"


def _judging(judge: Callable[[Looks], Sequence[Verdict]]) -> Callable[[MetricsPage], Awaitable[Sequence[Verdict]]]:
    """A check of a page by what two looks at it show."""

    async def check(page: MetricsPage) -> Sequence[Verdict]:
        return judge(await page.looks())

    return check


TRITON: tuple[Check[TritonTarget], ...] = (
    Check("triton-address", "Does anybody listen?", connections.check_address, RESTART, decides=True),
    Check("triton-protocol", "Does it speak gRPC?", connections.check_protocol, RESTART, decides=True),
    Check("triton-tls", "Is each side's certificate accepted?", connections.check_tls, RESTART, decides=True),
    Check("triton-version", "Is it a version without known holes?", server.check_version, RESTART),
    Check("triton-management", "Does administration want a key?", exposure.check_management, RESTART),
    Check("triton-keepalive", "May it be pinged as often as it is?", server.check_keepalive, RESTART, timeout_s=20.0),
    Check("triton-contract", "Do the models fit the gateway?", models.check_contract, MODELS, decides=True),
    Check("triton-inference", "Does every model run?", models.check_inference, RESTART, decides=True, timeout_s=60.0),
    Check("triton-charset", "Are there as many characters as classes?", models.check_charset, MODELS, decides=True),
    Check("triton-reading", "Is the known picture read rightly?", models.check_reading, MODELS, timeout_s=60.0),
)

TRITON_HTTP: tuple[Check[WebTarget], ...] = (
    Check("triton-http-management", "The same over HTTP?", exposure.check_http_management, RESTART),
)

TRITON_METRICS: tuple[Check[MetricsPage], ...] = (
    Check("triton-metrics", "Are there metrics?", MetricsPage.check, RESTART, decides=True),
    Check("triton-queue", "Does work pile up in Triton?", _judging(counters.judge_queue), RESTART),
    Check("triton-failures", "Do calls fail now?", _judging(counters.judge_failures), RESTART),
    Check("triton-gpu", "Have GPUs memory and time left?", _judging(counters.judge_gpu), RESTART),
    Check("triton-leaks", "Do models in Python keep memory?", _judging(counters.judge_leaks), RESTART),
    Check("triton-memory", "Is there memory left?", _judging(counters.judge_memory), RESTART),
)

TRITON_LOG: tuple[Check[triton_log.TritonLog], ...] = (
    Check("log-readable", "Is there a log?", triton_log.check_readable, RESTART, decides=True),
    Check("log-memory", "Did anything run out of memory?", triton_log.check_memory, RESTART),
    Check("log-models", "Did a model die, or not load?", triton_log.check_models, RESTART),
)

GATEWAY: tuple[Check[WebTarget], ...] = (
    Check("gateway-address", "Does anybody listen?", service.check_address, RESTART, decides=True),
    Check("gateway-alive", "Is it a gateway that answers?", service.check_alive, RESTART, decides=True),
    Check("gateway-clock", "Is its clock right?", service.check_clock, RESTART),
    Check("gateway-exposure", "Are its metrics where clients are?", exposure.check_operators_pages, RESTART),
    Check("gateway-ready", "Is it ready, with all its Tritons?", service.check_ready, RESTART, decides=True),
    Check("gateway-version", "Is it the version of this doctor?", service.check_version, RESTART),
    Check("gateway-reading", "Is it really ready?", service.check_reading, RESTART, timeout_s=30.0),
)

GATEWAY_METRICS: tuple[Check[MetricsPage], ...] = (
    Check("gateway-metrics", "Are there metrics?", MetricsPage.check, RESTART, decides=True),
    Check("gateway-load", "Are requests refused, or late?", _judging(counters.judge_load), RESTART),
    Check("gateway-batches", "Do lines share calls, without much padding?", _judging(counters.judge_batches), RESTART),
    Check("gateway-memory", "Do calls run out of memory?", _judging(counters.judge_splits), RESTART),
    Check("gateway-files", "May it open enough files?", _judging(counters.judge_files), RESTART),
)

MACHINE: tuple[Check[MachineTarget], ...] = (
    Check("machine-files", "May processes open enough files?", machine.check_files, RESTART),
    Check("machine-locked-memory", "May they lock enough memory?", machine.check_locked_memory, RESTART),
    Check("machine-shared-memory", "Has /dev/shm room?", machine.check_shared_memory, RESTART),
    Check("machine-growth", "Do processes grow?", machine.check_growth, RESTART),
    Check("machine-ports", "Do Triton's ports listen for others?", exposure.check_ports, RESTART),
)

FLEET: tuple[Check[FleetTarget], ...] = (
    Check("fleet-versions", "Is there one version of each?", fleet.check_versions, RESTART),
    Check("fleet-contracts", "Do all Tritons serve the same?", fleet.check_contracts, RESTART),
)

CHECKS: tuple[Check[Any], ...] = (
    *TRITON,
    *TRITON_HTTP,
    *TRITON_METRICS,
    *TRITON_LOG,
    *GATEWAY,
    *GATEWAY_METRICS,
    *MACHINE,
    *FLEET,
)
