"""What is measured: a Triton and a gateway as `make serve` starts them, or a deployment that runs already."""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from gateway.local import READY_TIMEOUT_S, GatewayProcess, PairOptions, base_url, build_models
from loadtest.accuracy.circumstances import ROOT, describe_machine
from loadtest.capacity.errors import CapacityError
from loadtest.capacity.usage import GATEWAY, TRITON, Place
from loadtest.capacity.watching import Sources
from loadtest.terminal import say
from triton_models.runtime import install_runtime
from triton_models.server import LOOPBACK, Ports, TritonProcess

HOME = ROOT / ".local"


@dataclass(frozen=True, slots=True)
class Deployment:
    """What is measured.

    Attributes:
        url: of the gateway.
        sources: where its figures are read.
        place: what it has.
        name: in the report.
    """

    url: str
    sources: Sources
    place: Place
    name: str


@contextmanager
def local_pair(model_set: str) -> Iterator[Deployment]:
    """A Triton and a gateway on this machine, with their default settings."""
    options = PairOptions("triton", LOOPBACK, Ports.free().http, model_set, HOME)
    runtime, repository, ports = install_runtime(HOME / "triton", say), build_models(options), Ports.free()
    say(f"starting Triton with {model_set} and the gateway")
    with (
        tempfile.TemporaryDirectory(prefix="capacity-") as folder,
        TritonProcess(runtime, repository, log_file=Path(folder) / "triton.log", ports=ports) as triton,
        GatewayProcess(settings(options, triton.grpc_address), options) as gateway,
    ):
        gateway.wait_ready(READY_TIMEOUT_S)
        url = base_url(options)
        metrics = f"http://{LOOPBACK}:{ports.metrics}/metrics"
        sources = Sources(f"{url}/metrics", metrics, {GATEWAY: gateway.pid, TRITON: triton.pid})
        place = Place(len(os.sched_getaffinity(0)), instances(f"http://{LOOPBACK}:{ports.http}", models(url)))
        yield Deployment(url, sources, place, f"one gateway and one Triton with {model_set} on {describe_machine()}")


def settings(options: PairOptions, triton: str) -> Mapping[str, str]:
    """Of the gateway: all defaults, and a quiet log."""
    return {
        "OCR_HOST": options.host,
        "OCR_PORT": str(options.port),
        "OCR_TRITON_ADDRESSES": triton,
        "OCR_LOG_LEVEL": "error",
    }


@contextmanager
def running(url: str, gateway_metrics: str | None, triton_metrics: str | None) -> Iterator[Deployment]:
    """A deployment that runs already, here or elsewhere; its processors are not known.

    Raises:
        CapacityError: it is not ready.
    """
    url = url.rstrip("/")
    try:
        answer = httpx.get(f"{url}/readyz", timeout=10.0, trust_env=False)
    except httpx.HTTPError as error:
        raise CapacityError(f"nobody answers at {url}: {type(error).__name__}: {error}") from error
    if not answer.is_success:
        raise CapacityError(f"{url} is not ready: {answer.text[:300]}")
    sources = Sources(gateway_metrics or f"{url}/metrics", triton_metrics, {})
    yield Deployment(url, sources, Place(0, {}), f"gateway {version(sources)} at {url}")


def version(sources: Sources) -> str:
    """That of a running gateway.

    Raises:
        CapacityError: it has no metrics, or somebody else's.
    """
    try:
        text = httpx.get(sources.gateway_metrics, timeout=10.0, trust_env=False).text
    except httpx.HTTPError as error:
        raise CapacityError(f"no metrics at {sources.gateway_metrics}: {type(error).__name__}: {error}") from error
    found = re.search(r'^ocr_build_info\{version="([^"]*)"', text, re.MULTILINE)
    if found is None:
        raise CapacityError(f"{sources.gateway_metrics} has no metrics of this gateway: --gateway-metrics says where")
    return found[1]


def models(url: str) -> Sequence[str]:
    """Names of the models that a gateway on this machine uses."""
    return [model["name"] for model in httpx.get(f"{url}/v1/models", trust_env=False).json()["models"]]


def instances(triton: str, names: Sequence[str]) -> dict[str, int]:
    """How many of each model a Triton on this machine runs."""
    configs = {name: httpx.get(f"{triton}/v2/models/{name}/config", trust_env=False).json() for name in names}
    return {name: sum(group["count"] for group in config["instance_group"]) for name, config in configs.items()}
