"""A Triton with one of the catalog's model sets, made if need be, for the time of a measurement."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.local import PairOptions, build_models
from loadtest.accuracy.circumstances import ROOT
from loadtest.terminal import say
from triton_models.runtime import install_runtime
from triton_models.server import LOOPBACK, Ports, TritonProcess

HOME = ROOT / ".local"


@contextmanager
def triton(model_set: str, folder: Path) -> Iterator[str]:
    """Its gRPC address; its log stays in the folder."""
    with triton_process(models(model_set), folder) as server:
        yield server.grpc_address


def models(model_set: str) -> Path:
    """The repository of a model set."""
    return build_models(PairOptions("triton", LOOPBACK, 0, model_set, HOME))


def triton_process(repository: Path, folder: Path) -> TritonProcess:
    """A server of these models that is yet to be started."""
    runtime = install_runtime(HOME / "triton", say)
    return TritonProcess(runtime, repository, log_file=folder / "triton.log", ports=Ports.free())
