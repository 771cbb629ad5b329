"""Latency while every recogniser of a server is replaced by a further version, under load."""

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from tritonclient.grpc.service_pb2 import RepositoryModelLoadRequest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from loadtest.gpu.load import OK, Offer, Sample, percentile_ms, summarize
from loadtest.gpu.service import Service

WARM_UP_S = 3.0
BEFORE_S = 8.0
LOAD_S = 40.0
"""Of load in all; the switch has to be over well before."""
AT_A_TIME = 4
"""Models that load at once: each plans its convolutions for seconds, on a core that others would use."""
LOADING_TIMEOUT_S = 60.0
VERSION = "2"


def switch_versions(service: Service, ports: Sequence[int], kind: str, rate: float) -> dict[str, Any]:
    """Offer pages at a steady rate, switch after a while, and say how long pages took before, meanwhile and after."""
    service.clients.send(Offer(tuple(ports), WARM_UP_S, concurrency=8), service.pages(kind))
    offer = Offer(tuple(ports), LOAD_S, rate=rate, timeout_s=10.0)
    samples: list[Sample] = []
    load = threading.Thread(target=lambda: samples.extend(service.clients.send(offer, service.pages(kind))))
    started = time.monotonic()
    load.start()
    time.sleep(BEFORE_S)
    models = load_further_versions(service)
    switched_s = time.monotonic() - started
    load.join()
    return {
        "rate": rate,
        "switched": models,
        "took_s": round(switched_s - BEFORE_S, 1),
        "statuses": summarize(samples, LOAD_S).statuses,
        **by_phase(samples, {"before": 0.0, "meanwhile": BEFORE_S, "after": switched_s}),
    }


def by_phase(samples: Sequence[Sample], begins_s: dict[str, float]) -> dict[str, dict[str, float | None]]:
    """Latency of the pages that were due in each phase; phases by the second in which they begin."""
    ends = [*list(begins_s.values())[1:], float("inf")]
    phases = {}
    for (name, begin), end in zip(begins_s.items(), ends, strict=True):
        times = sorted(one.seconds for one in samples if one.status == OK and begin <= one.due_s < end)
        phases[name] = {
            "pages": len(times),
            **{f"p{share}_ms": percentile_ms(times, share / 100) for share in (50, 95, 99)},
        }
    return phases


def load_further_versions(service: Service) -> int:
    """Add a version to every recogniser, the same file under another number, and have it loaded; how many there are."""
    repository = service.stand.root / "models" / "switched"
    models = sorted(repository.glob("text_recognition*"))
    for model in models:
        add_version(model)
    with grpc.insecure_channel(service.server.grpc_address) as channel, ThreadPoolExecutor(AT_A_TIME) as pool:
        stub = GRPCInferenceServiceStub(channel)
        requests = [RepositoryModelLoadRequest(model_name=model.name) for model in models]
        list(pool.map(lambda request: stub.RepositoryModelLoad(request, timeout=LOADING_TIMEOUT_S), requests))
    return len(models)


def add_version(model: Path) -> None:
    """A further version of a model: the same file."""
    folder = model / VERSION
    folder.mkdir()
    os.link(model / "1" / "model.onnx", folder / "model.onnx")
