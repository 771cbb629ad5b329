"""The same inferences without a gateway: recorded tensors, page by page, by the least gRPC client there is.

Each page is one detection, and then its calls to the recogniser side by side: what a client has to do that knows the
tensors beforehand. The messages are encoded beforehand, too.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import grpc
from tritonclient.grpc.service_pb2 import ModelInferResponse

from gateway.inference.calls import Run
from gateway.inference.codecs import Tensors
from gateway.inference.messages import infer_request
from gateway.inference.triton import TritonBackend
from loadtest.gpu.recording import reader

METHOD = "/inference.GRPCInferenceService/ModelInfer"
CALL_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True)
class Calls:
    """What one page asks of the models, encoded.

    Attributes:
        detection: requests to the detector.
        recognition: to the recogniser, second readings included.
    """

    detection: tuple[bytes, ...]
    recognition: tuple[bytes, ...]


class Recorder(TritonBackend):
    """A backend that keeps the requests of what it is asked."""

    asked: list[tuple[str, bytes]]

    async def run(self, run: Run) -> Tensors:
        """As `TritonBackend.run`."""
        self.asked.append((run.model, infer_request(run.model, run.inputs, run.outputs, "").data))
        return await super().run(run)


async def record(address: str, pages: Sequence[Path]) -> list[Calls]:
    """Read each page once, and keep what was asked."""
    backend = Recorder(address)
    backend.asked = []
    await backend.refresh()
    recorded = []
    async with reader(backend) as read:
        for page in pages:
            backend.asked = []
            await read(page.read_bytes())
            recorded.append(calls_of(backend.asked))
    await backend.close()
    return recorded


def calls_of(asked: Sequence[tuple[str, bytes]]) -> Calls:
    """The requests by what they are for."""
    detection = tuple(data for model, data in asked if model.startswith("text_detection"))
    return Calls(detection, tuple(data for model, data in asked if not model.startswith("text_detection")))


class BareClient:
    """Asks Triton directly."""

    def __init__(self, address: str, pages: Sequence[Calls]) -> None:
        options = (("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1))
        self._channel = grpc.aio.insecure_channel(address, options)
        self._infer = self._channel.unary_unary(METHOD, response_deserializer=ModelInferResponse.FromString)
        self._pages = pages

    async def read(self, number: int) -> None:
        """Have one page computed."""
        page = self._pages[number % len(self._pages)]
        for requests in (page.detection, page.recognition):
            await asyncio.gather(*(self._call(request) for request in requests))

    async def _call(self, request: bytes) -> None:
        await self._infer(request, timeout=CALL_TIMEOUT_S)

    async def close(self) -> None:
        """Disconnect."""
        await self._channel.close()
