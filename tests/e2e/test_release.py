"""Models of a real Triton that serves are replaced, refused and taken back, while calls go on."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from gateways import connected
from onnx import numpy_helper
from served_models import EDITED

from gateway.__main__ import main
from gateway.errors import OcrError
from triton_models import releases
from triton_models.plans import Names
from triton_models.runtime import TritonRuntime
from triton_models.server import Ports, TritonProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

IMAGE = np.zeros((64, 64, 3), np.uint8)
ROWS = np.zeros((2, 48, 64, 3), np.uint8)
KEY = "an-admin-key"
RESTRICT = f"model-repository,shared-memory,logging,trace:admin-key={KEY}"


@pytest.fixture(scope="module")
def source(repositories: Mapping[Names, Path]) -> Path:
    return repositories[EDITED]


@pytest.fixture(scope="module")
def served(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the server loads from."""
    folder = tmp_path_factory.mktemp("served") / "models"
    shutil.copytree(source, folder)
    return folder


@pytest.fixture(scope="module")
def server(triton_runtime: TritonRuntime, served: Path) -> Iterator[TritonProcess]:
    flags = ["--load-model=*", "--strict-readiness=false", f"--grpc-restricted-protocol={RESTRICT}"]
    log = served.parent / "log"
    with TritonProcess(
        triton_runtime, served, log_file=log, ports=Ports.free(), model_control="explicit", extra_flags=flags
    ) as server:
        yield server


@pytest.fixture(scope="module")
def collapsed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models whose recogniser loads, answers, and reads nonsense: weights of a layer are gone, as in a bad engine."""
    folder = tmp_path_factory.mktemp("collapsed") / "models"
    shutil.copytree(source, folder)
    file = folder / "text_recognition" / "1" / "model.onnx"
    model = onnx.load(file)
    largest = max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))
    zeros = np.zeros_like(numpy_helper.to_array(largest))
    largest.CopyFrom(numpy_helper.from_array(zeros, largest.name))
    onnx.save(model, file)
    return folder


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_ADMIN_KEY", KEY)


@asynccontextmanager
async def under_load(server: TritonProcess) -> AsyncIterator[list[str]]:
    """Both models are called all the while, by two clients each; gives what came of the calls."""
    outcomes: list[str] = []

    async def call(run: Callable[[], Awaitable[object]]) -> None:
        while True:
            try:
                await run()
                outcomes.append("ok")
            except OcrError as error:
                outcomes.append(f"{error.code}: {error.detail}")
            await asyncio.sleep(0.05)

    async with connected(server, EDITED) as backend:
        detect = partial(backend.detect, IMAGE, timeout_s=60)
        recognize = partial(backend.recognize, ROWS, timeout_s=60)
        tasks = [asyncio.create_task(call(run)) for run in (detect, recognize) * 2]
        try:
            yield outcomes
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def command(server: TritonProcess, served: Path, action: str, *arguments: str) -> int:
    own = ["--repository", str(served), "--triton", server.grpc_address]
    return await asyncio.to_thread(main, ["models", action, *arguments, *own])


async def test_a_release_is_refused_if_it_reads_nonsense_served_if_it_reads_well_and_taken_back(
    server: TritonProcess, served: Path, source: Path, collapsed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = releases.summary(served)
    async with under_load(server) as outcomes:
        assert await command(server, served, "deploy", str(collapsed)) == 3
        assert "of the characters rightly, those that serve 100.0%" in capsys.readouterr().err
        assert releases.summary(served) == before
        assert await command(server, served, "deploy", str(source)) == 0
        assert await versions(server) == {"2"}
        assert await command(server, served, "rollback") == 0
        assert await versions(server) == {"1"}
    assert len(outcomes) > 100
    assert set(outcomes) == {"ok"}
    with capsys.disabled():
        print(f"\nmodels refused, released and taken back: {len(outcomes)} calls meanwhile, none failed")
    assert releases.summary(served) == before
    assert await command(server, served, "rollback") == 1


async def test_what_serves_is_said(server: TritonProcess, served: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert await command(server, served, "status") == 0
    assert "text_recognition: 1\n" in (said := capsys.readouterr().err)
    assert "its models work" in said


async def test_who_has_not_the_key_releases_nothing(
    server: TritonProcess, served: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_ADMIN_KEY", "wrong")
    before = folders(served)
    assert await command(server, served, "deploy", str(source)) == 1
    assert folders(served) == before
    assert releases.summary(served) == releases.summary(source)


async def test_what_can_not_be_loaded_changes_nothing_and_leaves_triton_ready(
    server: TritonProcess, served: Path, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(source, tmp_path / "broken")
    (tmp_path / "broken" / "text_recognition" / "1" / "model.onnx").write_bytes(b"not a model")
    before = folders(served)
    assert await command(server, served, "deploy", str(tmp_path / "broken")) == 1
    assert "did not load candidate_text_recognition" in capsys.readouterr().err
    assert folders(served) == before
    assert server.is_ready(), (
        "without --strict-readiness=false one model that fails takes a sound server out of service"
    )


def folders(repository: Path) -> list[str]:
    return sorted(path.name for path in repository.iterdir())


async def versions(server: TritonProcess) -> set[str]:
    async with connected(server, EDITED) as backend:
        contract = backend.contract
    return {model.version for model in (*contract.detection.models, *contract.recognition.models)}
