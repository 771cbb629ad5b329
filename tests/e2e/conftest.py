"""What end-to-end tests share: one real tritonserver with edited, original and per-shape models, and a gateway on it.

Everything that takes long to make is kept in the repository's `.local`, as `ocr-gateway serve` does. A test that stops
or changes a server starts one of its own.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from gateways import ONLY_REQUESTS, running_gateway
from served_models import EDITED, HOME, RECIPES

from triton_models.build import build_repository
from triton_models.catalog import DEFAULT_MODEL_SET, MODEL_SETS
from triton_models.plans import Names
from triton_models.preconditions import PreconditionError
from triton_models.runtime import TritonRuntime, install_runtime
from triton_models.server import Ports, TritonProcess

Say = Callable[[str], None]
MEASURED = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[MEASURED] = []


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where tests run in several processes, hand over what this one has measured."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["measured"] = session.config.stash[MEASURED]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what another process has measured."""
    node.config.stash.setdefault(MEASURED, []).extend(getattr(node, "workeroutput", {}).get("measured", []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show what the tests have measured, whether they passed or not."""
    if lines := config.stash.get(MEASURED, []):
        terminalreporter.section("measured")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def measured(request: pytest.FixtureRequest) -> Say:
    """Notes a line for the end of the report."""
    return request.config.stash[MEASURED].append


@pytest.fixture(scope="session")
def say(request: pytest.FixtureRequest) -> Say:
    """Tells whoever waits at the terminal, now, although pytest captures output."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def say(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{line}", flush=True)

    return say


@pytest.fixture(scope="session")
def triton_runtime(say: Say) -> TritonRuntime:
    """The installed tritonserver. Where it can't run the tests fail: a pass must mean that it ran."""
    try:
        return install_runtime(HOME / "triton", say)
    except PreconditionError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def repositories(say: Say) -> Mapping[Names, Path]:
    """A model repository for each of the recipes."""
    folders = {names: HOME / "tests" / names.recognition for names in RECIPES}
    for names, folder in folders.items():
        if build_repository(MODEL_SETS[DEFAULT_MODEL_SET], folder, RECIPES[names], wheels=HOME / "wheels"):
            say(f"built {folder} (once)")
    return folders


@pytest.fixture(scope="session")
def triton(
    triton_runtime: TritonRuntime, repositories: Mapping[Names, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TritonProcess]:
    """A server of all repositories, for every test that leaves it as it is."""
    first, *others = repositories.values()
    with TritonProcess(
        triton_runtime,
        first,
        log_file=tmp_path_factory.mktemp("triton") / "triton.log",
        ports=Ports.free(),
        extra_flags=[f"--model-repository={repository}" for repository in others],
    ) as server:
        yield server


@pytest.fixture
def own_triton(
    triton_runtime: TritonRuntime, repositories: Mapping[Names, Path], tmp_path: Path
) -> Iterator[TritonProcess]:
    """A server of the edited models, for one test to stop or kill."""
    with TritonProcess(
        triton_runtime, repositories[EDITED], log_file=tmp_path / "triton.log", ports=Ports.free()
    ) as server:
        yield server


@pytest.fixture(scope="session")
def gateway(triton: TritonProcess) -> Iterator[str]:
    """The URL of a gateway on the shared server. It reads its known picture once only, so as to count nothing else."""
    with running_gateway(triton.grpc_address, **ONLY_REQUESTS, OCR_MAX_REQUESTS="64") as url:
        yield url
