"""What is replaced, one after the other, as an orchestrator would: the next only when the one before has traffic."""

import asyncio
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tests.drills import actions
from tests.drills.actions import Action
from tests.drills.errors import DrillError
from tests.drills.processes import PROBES, REQUESTS, Gateway, wait_until
from tests.drills.stand import Stand

TRAFFIC_TIMEOUT_S = 30.0
VERSION = 2


@dataclass(frozen=True, slots=True)
class Step:
    """Something that is replaced, some times over.

    Attributes:
        name: in reports.
        goal: id of the project's goal.
        act: replaces it once, everywhere.
        times: how often.
        tritons: how many servers it needs.
    """

    name: str
    goal: str
    act: Action
    times: int
    tritons: int = 1


def steps(times: int) -> Sequence[Step]:
    """All of them; model versions are switched there and back, which counts as one time."""
    return (
        Step("both gateways restarted, one after the other", "R1", restart_gateways, times),
        Step("both Tritons restarted, one after the other", "R4", restart_tritons, times, tritons=2),
        Step("a new version of the recogniser loaded on every Triton, and withdrawn", "R5", switch_version, times),
    )


async def restart_gateways(stand: Stand) -> None:
    """Drain each gateway with SIGTERM and start it again."""
    for turned in each_gateway(stand):
        await actions.signal_gateway(signal.SIGTERM)(turned)
        await actions.restart_gateway(turned)
        await await_traffic(turned.gateway)


async def restart_tritons(stand: Stand) -> None:
    """The same with Tritons.

    Raises:
        DrillError: one had no traffic after its restart.
    """
    for turned in each_node(stand):
        turned.noted.pop("traffic_s", None)
        await actions.signal_triton(signal.SIGTERM)(turned)
        await actions.restart_and_see_traffic(turned)
        if "traffic_s" not in turned.noted:
            raise DrillError(f"the Triton at {turned.node.address} is back, but has no traffic")


async def switch_version(stand: Stand) -> None:
    """Load a further version on each Triton, then go back to the first."""
    for action in (actions.load_version(VERSION, broken=False), actions.withdraw_version(VERSION)):
        for turned in each_node(stand):
            await action(turned)
            await asyncio.sleep(actions.CALM_BEFORE_S)


def each_gateway(stand: Stand) -> Iterator[Stand]:
    """The stand with each of its gateways as the first, for that is the one that actions are about."""
    return (replace(stand, gateways=(gateway,)) for gateway in stand.gateways)


def each_node(stand: Stand) -> Iterator[Stand]:
    """The same with its Tritons."""
    return (replace(stand, nodes=(node,)) for node in stand.nodes)


async def await_traffic(gateway: Gateway) -> None:
    """Wait until requests reach a gateway that is back; nginx leaves it out for a while after it was refused.

    Raises:
        DrillError: none did.
    """

    async def has_traffic() -> bool:
        pages = [sample for sample in await gateway.samples(REQUESTS) if sample.labels["route"] not in PROBES]
        return sum(sample.value for sample in pages) >= actions.TRAFFIC

    await wait_until(has_traffic, TRAFFIC_TIMEOUT_S, f"{gateway.name} has no traffic")
