"""What a call costs the gateway with its pixels in the message, and would cost with them in system shared memory.

Real calls to a Triton of its own, in turn; both ways must be answered alike. Copying into the memory counts, as padding
lines into it would; waiting for the answer counts as well.

    python -m loadtest.stages.shared_memory
"""

import argparse
import asyncio
import mmap
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray
from tritonclient.grpc.service_pb2 import (
    ModelInferRequest,
    ModelInferResponse,
    SystemSharedMemoryRegisterRequest,
    SystemSharedMemoryUnregisterRequest,
)

from gateway.allocator import keep_freed_memory
from gateway.inference.channels import TritonConnection
from gateway.inference.messages import infer_request
from loadtest.stages.stand import triton

REGION = "ocr_loadtest"
REGION_BYTES = 8 << 20
SHARED = Path("/dev/shm")
"""Where Linux keeps it."""
CALL_TIMEOUT_S = 60.0

Call = Callable[[], Awaitable[ModelInferResponse]]


@dataclass(frozen=True, slots=True)
class Tensor:
    """What one model is asked for."""

    model: str
    name: str
    shape: tuple[int, ...]
    outputs: tuple[str, ...]

    def pixels(self) -> NDArray[np.uint8]:
        """Noise; the same each time."""
        return np.random.default_rng(1).integers(0, 256, self.shape, np.uint8)


TENSORS = (
    Tensor("text_detection", "image", (1, 1440, 1024, 3), ("probability_map",)),
    Tensor("text_recognition", "crops", (8, 48, 1280, 3), ("class_index", "probability", "space_probability")),
)
"""As the reference page makes them: its one detection, and a chunk of its lines."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.stages.shared_memory", description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="of each call (default: %(default)s)")
    parser.add_argument("--model-set", default="ppocrv6-tiny", help="(default: %(default)s)")
    options = parser.parse_args(arguments)
    keep_freed_memory()
    with (
        tempfile.TemporaryDirectory(prefix="shared-memory-") as folder,
        triton(options.model_set, Path(folder)) as address,
        mapped() as memory,
    ):
        asyncio.run(measure(address, memory, options.repeats))


@contextmanager
def mapped() -> Iterator[NDArray[np.uint8]]:
    """The shared memory, for as long as the block runs."""
    path = SHARED / REGION
    path.write_bytes(bytes(REGION_BYTES))
    try:
        with path.open("r+b") as file:
            yield np.frombuffer(mmap.mmap(file.fileno(), REGION_BYTES), np.uint8)
    finally:
        path.unlink()


async def measure(address: str, memory: NDArray[np.uint8], repeats: int) -> None:
    """Both ways for each tensor."""
    connection = TritonConnection(address)
    region = SystemSharedMemoryRegisterRequest(name=REGION, key=f"/{REGION}", byte_size=REGION_BYTES)
    await connection.stub.SystemSharedMemoryRegister(region, timeout=CALL_TIMEOUT_S)
    for tensor in TENSORS:
        message, shared = calls(connection, tensor, memory)
        if (await message()).raw_output_contents != (await shared()).raw_output_contents:
            raise RuntimeError(f"{tensor.model} answers differently")
        spent = [(await spent_ms(message), await spent_ms(shared)) for _ in range(repeats)]
        in_message, in_memory = (median(times) for times in zip(*spent, strict=True))
        megabytes = tensor.pixels().nbytes / 1e6
        print(f"{tensor.model}, {megabytes:.1f} MB: {in_message:.1f} ms in the message, {in_memory:.1f} ms shared")
    await connection.stub.SystemSharedMemoryUnregister(
        SystemSharedMemoryUnregisterRequest(name=REGION), timeout=CALL_TIMEOUT_S
    )
    await connection.close()


def calls(connection: TritonConnection, tensor: Tensor, memory: NDArray[np.uint8]) -> tuple[Call, Call]:
    """The call with pixels in its message, and the one that copies them into shared memory, as padding would."""
    pixels = tensor.pixels()

    async def message() -> ModelInferResponse:
        request = infer_request(tensor.model, {tensor.name: pixels}, tensor.outputs, "")
        return await connection.stub.ModelInfer(request.data, timeout=CALL_TIMEOUT_S)

    async def shared() -> ModelInferResponse:
        memory[: pixels.nbytes] = pixels.reshape(-1)
        request = ModelInferRequest(model_name=tensor.model)
        given = request.inputs.add(name=tensor.name, datatype="UINT8", shape=tensor.shape)
        given.parameters["shared_memory_region"].string_param = REGION
        given.parameters["shared_memory_byte_size"].int64_param = pixels.nbytes
        for name in tensor.outputs:
            request.outputs.add(name=name)
        return await connection.stub.ModelInfer(request.SerializeToString(), timeout=CALL_TIMEOUT_S)

    return message, shared


async def spent_ms(call: Call) -> float:
    """Processor time of this process, waiting for the answer included."""
    started = time.process_time()
    await call()
    return 1e3 * (time.process_time() - started)


if __name__ == "__main__":
    main()
