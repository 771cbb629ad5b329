"""What a drill is made on: real Tritons, gateways on them, and what stands between and before them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.deployed_nginx import Nginx, running
from tests.drills.processes import Gateway, SupervisedPair
from tests.drills.proxy import FaultProxy
from tests.drills.repositories import MODEL_SET, DrillRepository, build_models, with_faulty_backend
from tests.drills.watchdog import Watchdog
from triton_models.runtime import TritonRuntime, install_runtime
from triton_models.server import Ports, TritonProcess

DEADLINE_S = 2.0
"""Of every request. Short, so that a hang is over soon; otherwise the gateways have their default settings."""


@dataclass(frozen=True, slots=True)
class StandPlan:
    """What a stand is made of.

    Attributes:
        tritons: servers, each with a repository of its own.
        gateways: each on all of them.
        proxied: a fault proxy stands before every Triton.
        nginx: nginx stands before the gateways.
        explicit: models are loaded on request, through the repository API.
        watchdog: whether the first gateway's signs of life are heard, as systemd would.
        supervised: there is but one Triton and one gateway, kept up by `ocr-gateway serve`.
        settings: of the gateways, further ones.
    """

    tritons: int = 1
    gateways: int = 1
    proxied: bool = False
    nginx: bool = False
    explicit: bool = False
    watchdog: bool = False
    supervised: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Workshop:
    """What all stands share; made once.

    Attributes:
        runtime: the server, with backends whose models can be made to go wrong.
        models: the repository that those of the stands are copied from.
        home: what `install_runtime` and `build_models` keep.
        folder: for the stands' files.
    """

    runtime: TritonRuntime
    models: Path
    home: Path
    folder: Path

    @classmethod
    def open(cls, home: Path, folder: Path, say: Callable[[str], None]) -> Self:
        """Install and build what is missing in `home`."""
        runtime = with_faulty_backend(install_runtime(home / "triton", say), folder / "backends")
        return cls(runtime, build_models(home), home, folder)


@dataclass(frozen=True, slots=True)
class Node:
    """One Triton of a stand.

    Attributes:
        server: the process.
        repository: what it serves.
        proxy: what stands before it, if anything does.
    """

    server: TritonProcess
    repository: DrillRepository
    proxy: FaultProxy | None = None

    @property
    def address(self) -> str:
        """Where the gateways call it."""
        return self.server.grpc_address if self.proxy is None else self.proxy.address

    async def restart(self) -> None:
        """Start it again, whatever became of it, and wait until it is ready."""
        await asyncio.to_thread(self.server.stop)
        self.server.start()
        await asyncio.to_thread(self.server.wait_ready)


@dataclass(frozen=True, slots=True)
class Stand:
    """Everything that a drill may break.

    Attributes:
        nodes: the Tritons.
        gateways: see there.
        url: where clients ask.
        watchdog: of the first gateway, if it has one.
        noted: figures that only the fault itself can take, by name.
    """

    nodes: tuple[Node, ...]
    gateways: tuple[Gateway, ...]
    url: str
    watchdog: Watchdog | None = None
    noted: dict[str, float] = field(default_factory=dict)

    @property
    def node(self) -> Node:
        """The Triton that is broken."""
        return self.nodes[0]

    @property
    def triton_pid(self) -> int:
        """Of the Triton that is broken, whoever started it."""
        gateway = self.gateway
        return gateway.triton_pid if isinstance(gateway, SupervisedPair) else self.node.server.pid

    @property
    def gateway(self) -> Gateway:
        """The gateway that is broken."""
        return self.gateways[0]


@asynccontextmanager
async def built(plan: StandPlan, workshop: Workshop, name: str) -> AsyncIterator[Stand]:
    """A stand that is ready, and gone afterwards; to be entered on the main thread."""
    folder = workshop.folder / name
    folder.mkdir(parents=True)
    async with AsyncExitStack() as stack:
        apart = 0 if plan.supervised else plan.tritons
        nodes = tuple([await _node(plan, workshop, folder / f"triton-{number}", stack) for number in range(apart)])
        watchdog = _watchdog(folder, stack) if plan.watchdog else None
        gateways = _gateways(plan, workshop, folder, nodes, watchdog)
        for gateway in gateways:
            gateway.start()
            stack.push_async_callback(gateway.stop)
        for gateway in gateways:
            await gateway.wait_ready()
        url = _nginx(folder / "nginx", gateways, stack) if plan.nginx else gateways[0].url
        yield Stand(nodes, gateways, url, watchdog)


async def _node(plan: StandPlan, workshop: Workshop, folder: Path, stack: AsyncExitStack) -> Node:
    repository = DrillRepository(workshop.models, folder / "models")
    server = TritonProcess(
        workshop.runtime,
        repository.root,
        log_file=folder / "triton.log",
        ports=Ports.free(),
        model_control="explicit" if plan.explicit else "none",
        extra_flags=["--load-model=*"] if plan.explicit else [],
    )
    server.start()
    stack.callback(server.stop)
    await asyncio.to_thread(server.wait_ready)
    proxy = await stack.enter_async_context(FaultProxy(server.ports.grpc)) if plan.proxied else None
    return Node(server, repository, proxy)


def _watchdog(folder: Path, stack: AsyncExitStack) -> Watchdog:
    watchdog = Watchdog(folder / "notify")
    stack.callback(watchdog.close)
    return watchdog


def _gateways(
    plan: StandPlan, workshop: Workshop, folder: Path, nodes: Sequence[Node], watchdog: Watchdog | None
) -> tuple[Gateway, ...]:
    settings = {"OCR_TIMEOUT_S": str(DEADLINE_S), **plan.settings}
    if plan.supervised:
        return (SupervisedPair("pair", folder, settings, model_set=MODEL_SET, home=workshop.home),)
    settings["OCR_TRITON_ADDRESSES"] = ",".join(node.address for node in nodes)
    own = [watchdog.environment if watchdog and number == 0 else {} for number in range(plan.gateways)]
    return tuple(Gateway(f"gateway-{number}", folder, settings | more) for number, more in enumerate(own))


def _nginx(folder: Path, gateways: Sequence[Gateway], stack: AsyncExitStack) -> str:
    """Where it answers, for all gateways."""
    nginx = Nginx(folder, [gateway.port for gateway in gateways])
    return stack.enter_context(running(nginx)).url
