"""What is looked at, and where it is."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from gateway.inference.channels import TlsFiles, TritonConnection
from gateway.inference.contract import Contract
from gateway.inference.endpoints import Endpoint
from gateway.inference.served_models import ModelNames

CALL_S = 3.0
"""How long a question may take that needs no model."""


@dataclass(frozen=True, slots=True)
class TritonTarget:
    """One Triton's gRPC API.

    Attributes:
        host, port: where it listens.
        tls: how it is encrypted, if it is.
        names: of its models.
    """

    host: str
    port: int
    tls: TlsFiles | None = None
    names: ModelNames = field(default_factory=ModelNames)

    @property
    def address(self) -> str:
        """As gRPC wants it."""
        return f"{self.host}:{self.port}"

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[TritonConnection]:
        """For questions about the server itself."""
        connection = TritonConnection(self.address, self.tls.read() if self.tls else None)
        try:
            yield connection
        finally:
            await connection.close()

    @asynccontextmanager
    async def endpoint(self) -> AsyncIterator[Endpoint]:
        """For questions about its models."""
        tls = self.tls.read() if self.tls else None
        endpoint = Endpoint(self.address, self.names, timeout_s=CALL_S, changed=lambda: None, tls=tls)
        try:
            yield endpoint
        finally:
            await endpoint.close()

    async def read_contract(self) -> Contract:
        """What its models are; errors as of `Endpoint.read_contract`."""
        async with self.endpoint() as endpoint:
            return await endpoint.read_contract()


@dataclass(frozen=True, slots=True)
class WebTarget:
    """Something that speaks HTTP.

    Attributes:
        url: without a path, or of one page.
        api_key: for a gateway that wants one.
        guessed: whether nobody said that it is there.
        transport: in the place of the network, for tests.
    """

    url: str
    api_key: str = ""
    guessed: bool = False
    transport: httpx.AsyncBaseTransport | None = None

    @property
    def host(self) -> str:
        """Name or number."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """Where it listens."""
        parts = urlsplit(self.url)
        return parts.port or (443 if parts.scheme == "https" else 80)

    def client(self, *, timeout_s: float = CALL_S) -> httpx.AsyncClient:
        """An HTTP client for it; a proxy in the environment is for the outside world."""
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        return httpx.AsyncClient(
            base_url=self.url, headers=headers, timeout=timeout_s, trust_env=False, transport=self.transport
        )


@dataclass(frozen=True, slots=True)
class MachineTarget:
    """This machine.

    Attributes:
        pids: of processes whose limits are of interest.
        ports: of Triton, where it runs here, by what they are for.
        proc, shm: where the kernel tells.
    """

    pids: tuple[int, ...] = ()
    ports: tuple[tuple[str, int], ...] = ()
    proc: Path = Path("/proc")
    shm: Path = Path("/dev/shm")  # noqa: S108 - it is looked at, not written


@dataclass(frozen=True, slots=True)
class FleetTarget:
    """All Tritons and gateways together."""

    tritons: tuple[TritonTarget, ...]
    gateways: tuple[WebTarget, ...]
