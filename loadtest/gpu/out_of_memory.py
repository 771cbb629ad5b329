"""Running out of GPU memory for real: recognisers with too small an arena, and a card that somebody else has filled."""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import grpc
import numpy as np
from tritonclient.grpc.service_pb2 import ModelInferRequest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

FREE_MIB = 128
HELD_S = 3.0
HOLDER = """
import sys, torch
free, _ = torch.cuda.mem_get_info()
held = [torch.empty(free - (int(sys.argv[1]) << 20), dtype=torch.uint8, device="cuda")]
print("held", flush=True)
sys.stdin.read()
"""


def texts(address: str, model: str, shape: Sequence[int], calls: int = 3) -> list[dict[str, object]]:
    """What Triton answers to calls of this shape, and how fast."""
    rows = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    request = ModelInferRequest(model_name=model, raw_input_contents=[rows.tobytes()])
    request.inputs.add(name="crops", datatype="UINT8", shape=shape)
    answers: list[dict[str, object]] = []
    with grpc.insecure_channel(address) as channel:
        stub = GRPCInferenceServiceStub(channel)
        for _ in range(calls):
            started = time.perf_counter()
            try:
                stub.ModelInfer(request, timeout=30.0)
                code, text = "OK", ""
            except grpc.RpcError as error:
                code, text = error.code().name, error.details() or ""
            answers.append({"ms": round(1000 * (time.perf_counter() - started), 1), "code": code, "text": text})
    return answers


@contextmanager
def held_card(free_mib: int) -> Iterator[None]:
    """Meanwhile another process holds all of the card's memory but so much."""
    command = [sys.executable, "-c", HOLDER, str(free_mib)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.communicate(timeout=30.0)


def fill_card(free_mib: int = FREE_MIB, seconds: float = HELD_S) -> None:
    """Another process takes all of the card's memory but so much, and holds it for a while."""
    with held_card(free_mib):
        time.sleep(seconds)
