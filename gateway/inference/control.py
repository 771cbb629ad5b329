"""Loading and unloading models of a Triton that lets whoever has its key do so (`--model-control-mode=explicit`)."""

from types import TracebackType
from typing import Self

import grpc
from tritonclient.grpc.service_pb2 import RepositoryModelLoadRequest, RepositoryModelUnloadRequest

from gateway.errors import BackendUnavailable
from gateway.inference.channels import TritonConnection, TritonTls

KEY_HEADER = "triton-grpc-protocol-admin-key"


class TritonControl:
    """One Triton; an asynchronous context manager.

    Args:
        address: host:port of its gRPC API.
        key: that its protocol model-repository wants; empty if it wants none.
        timeout_s: of one load: models of a GPU take half a minute.
        tls: how the connection is encrypted, if it is.

    Raises, in all methods:
        BackendUnavailable: it did not do it; with its own words.
    """

    def __init__(self, address: str, key: str, *, timeout_s: float = 300.0, tls: TritonTls | None = None) -> None:
        self.address = address
        self._connection = TritonConnection(address, tls)
        self._metadata = ((KEY_HEADER, key),) if key else ()
        self._timeout_s = timeout_s

    async def load(self, model: str) -> None:
        """Load what lies in the repository; what was loaded serves until then, and goes on if this fails."""
        request = RepositoryModelLoadRequest(model_name=model)
        stub, metadata = self._connection.stub, self._metadata
        await self._do("load", model, stub.RepositoryModelLoad(request, timeout=self._timeout_s, metadata=metadata))

    async def unload(self, model: str) -> None:
        """Unload it; one that is not loaded stays so."""
        request = RepositoryModelUnloadRequest(model_name=model)
        stub, metadata = self._connection.stub, self._metadata
        await self._do("unload", model, stub.RepositoryModelUnload(request, timeout=self._timeout_s, metadata=metadata))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await self._connection.close()

    async def _do(self, what: str, model: str, call: "grpc.aio.UnaryUnaryCall[object, object]") -> None:
        try:
            await call
        except grpc.aio.AioRpcError as error:
            raise BackendUnavailable(f"{self.address} did not {what} {model}: {error.details()}") from error
