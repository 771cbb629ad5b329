"""Models of a real Triton that serves are replaced, refused and taken back, while clients have pages read."""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import onnx
import pytest
from gateways import assert_same_answer, connected, running_patient_gateway
from onnx import numpy_helper
from rendered_pages import page, png
from served_models import EDITED, HOME, RECIPES

from gateway.__main__ import main
from gateway.web.releases import is_in
from triton_models import releases
from triton_models.build import build_repository
from triton_models.catalog import MODEL_SETS
from triton_models.runtime import TritonRuntime
from triton_models.server import Ports, TritonProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

MODEL_SET = "ppocrv6-tiny"
CLIENTS = 2
TEXTS = ("Zebra 2026\nTotal 48.00", "Honey\nZebra Zebra\n12.50", "Zebra Winter Zebra")
PAGES = [png(page(text.splitlines(), width=360, height=160)) for text in TEXTS]
OLD, NEW = "Z", "Ƶ"
"""By which models are told apart: what the new ones write for the class that the old ones have for Z."""
ORIGINS = ("failed", "mixed", "read by the old models alone", "read by the new ones alone")
KEY = "an-admin-key"
RESTRICT = f"model-repository,shared-memory,logging,trace:admin-key={KEY}"


@pytest.fixture(scope="module")
def source(say: Callable[[str], None]) -> Path:
    """The smallest models: they are loaded ten times over, while the processor is busy."""
    folder = HOME / "tests" / MODEL_SET
    if build_repository(MODEL_SETS[MODEL_SET], folder, RECIPES[EDITED], wheels=HOME / "wheels"):
        say(f"built {folder} (once)")
    return folder


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


@pytest.fixture(scope="module")
def renewed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models that read as well, by another charset."""
    folder = tmp_path_factory.mktemp("renewed") / "models"
    shutil.copytree(source, folder)
    recogniser = folder / "text_recognition"
    for config in (recogniser / "config.pbtxt", *(recogniser / "configs").glob("*.pbtxt")):
        old, new = (f"\\n{letter}\\n" for letter in (OLD, NEW))
        text = config.read_text(encoding="utf-8")
        assert text.count(old) == 1
        config.write_text(text.replace(old, new), encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_ADMIN_KEY", KEY)


@dataclass(frozen=True, slots=True)
class Stand:
    """What the tests work on.

    Attributes:
        server: the Triton.
        served: the folder that it loads from.
        gateway: the URL of a gateway on it.
    """

    server: TritonProcess
    served: Path
    gateway: str

    async def command(self, action: str, *arguments: str) -> int:
        """`ocr-gateway models`; its exit code."""
        own = ["--repository", str(self.served), "--triton", self.server.grpc_address]
        return await asyncio.to_thread(main, ["models", action, *arguments, *own])

    def candidates(self) -> list[str]:
        return releases.candidates_of(self.served)

    async def versions(self) -> set[str]:
        async with connected(self.server, EDITED) as backend:
            contract = backend.contract
        return {model.version for model in (*contract.detection.models, *contract.recognition.models)}


@pytest.fixture(scope="module")
def stand(server: TritonProcess, served: Path) -> Iterator[Stand]:
    with running_patient_gateway(server.grpc_address) as url:
        yield Stand(server, served, url)


@asynccontextmanager
async def client_of(gateway: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=gateway, timeout=60, trust_env=False) as client:
        yield client


async def read(client: httpx.AsyncClient, data: bytes, headers: Mapping[str, str] | None = None) -> httpx.Response:
    return await client.post("/v1/ocr", params={"min_side": 0}, content=data, headers=headers)


async def read_alone(gateway: str) -> list[dict[str, Any]]:
    """What the models that serve say of each page, while nobody else asks."""
    async with client_of(gateway) as client:
        return [(await read(client, data)).json() for data in PAGES]


@asynccontextmanager
async def under_load(gateway: str) -> AsyncIterator[list[tuple[int, httpx.Response]]]:
    """Clients have the pages read all the while; gives which were read, and the answers."""
    answers: list[tuple[int, httpx.Response]] = []
    ended = asyncio.Event()

    async def ask(first: int) -> None:
        async with client_of(gateway) as client:
            for number in cycle(range(len(PAGES))):
                which = (first + number) % len(PAGES)
                answers.append((which, await read(client, PAGES[which])))
                if ended.is_set():
                    return

    async with asyncio.TaskGroup() as tasks:
        for client in range(CLIENTS):
            tasks.create_task(ask(client))
        try:
            yield answers
        finally:
            ended.set()


def origin(response: httpx.Response, old: dict[str, Any], new: dict[str, Any]) -> str:
    """One of `ORIGINS`. By its letter it is known whose answer it should be; then all of it must be theirs."""
    if not response.is_success:
        return "failed"
    answer = response.json()
    answer["warnings"] = [one for one in answer["warnings"] if one["code"] != "candidate_failed"]
    for expected, name in ((old, ORIGINS[2]), (new, ORIGINS[3])):
        if answer["pages"][0]["text"] == expected["pages"][0]["text"]:
            assert_same_answer(answer, expected)
            return name
    return "mixed"


async def test_under_load_nonsense_is_refused_another_charset_released_and_taken_back_and_no_request_fails(
    stand: Stand, collapsed: Path, renewed: Path, capsys: pytest.CaptureFixture[str], measured: Callable[[str], None]
) -> None:
    """Every page is what the old models alone make of it, or the new ones alone: never a part of each."""
    before = releases.summary(stand.served)
    old = await read_alone(stand.gateway)
    async with under_load(stand.gateway) as during_release:
        assert await stand.command("deploy", str(collapsed)) == 3
        assert "of the characters rightly, those that serve 100.0%" in capsys.readouterr().err
        assert releases.summary(stand.served) == before
        assert await stand.command("deploy", str(renewed)) == 0
        assert await stand.versions() == {"2"}
    new = await read_alone(stand.gateway)
    async with under_load(stand.gateway) as during_rollback:
        assert await stand.command("rollback") == 0
        assert await stand.versions() == {"1"}
    assert [answer["pages"][0]["text"] for answer in old] == list(TEXTS)
    assert [answer["pages"][0]["text"] for answer in new] == [text.replace(OLD, NEW) for text in TEXTS]
    counts = Counter(origin(answer, old[which], new[which]) for which, answer in (*during_release, *during_rollback))
    measured(
        "models refused, released with another charset, and rolled back under load: "
        f"{counts.total()} requests over HTTP, " + ", ".join(f"{counts[name]} {name}" for name in ORIGINS)
    )
    assert counts["failed"] == counts["mixed"] == 0
    assert counts["read by the old models alone"] > 0 < counts["read by the new ones alone"]
    assert releases.summary(stand.served) == before
    assert await stand.command("rollback") == 1


async def test_a_candidate_reads_its_share_and_whatever_asks_for_it_and_no_request_fails(
    stand: Stand, renewed: Path, capsys: pytest.CaptureFixture[str], measured: Callable[[str], None]
) -> None:
    old = await read_alone(stand.gateway)
    ids = [f"request-{number}" for number in range(4)]
    async with under_load(stand.gateway) as answers, client_of(stand.gateway) as client:
        assert await stand.command("deploy", str(renewed), "--share", "50") == 0
        new = [(await read_until(client, data, 200, {"X-Ocr-Release": "candidate"})).json() for data in PAGES]
        assert (await read(client, PAGES[0], {"X-Ocr-Release": "serving"})).headers["X-Ocr-Release"] == "serving"
        shared = [(await read(client, PAGES[0], {"X-Request-Id": one})).headers["X-Ocr-Release"] for one in ids]
        capsys.readouterr()
        assert await stand.command("status") == 0
        assert "the candidate: works, and reads 50 % of the requests" in capsys.readouterr().err
        assert await stand.command("rollback") == 0
        await read_until(client, PAGES[0], 400, {"X-Ocr-Release": "candidate"})
    assert [answer["pages"][0]["text"] for answer in new] == [text.replace(OLD, NEW) for text in TEXTS]
    assert {model["name"] for model in new[0]["models"]} == {"candidate_text_detection", "candidate_text_recognition"}
    assert shared == ["candidate" if is_in(one, 50) else "serving" for one in ids]
    assert set(shared) == {"candidate", "serving"}
    assert releases.candidates_of(stand.served) == []
    counts = Counter(origin(answer, old[which], new[which]) for which, answer in answers)
    measured(
        f"half of the requests read by a candidate, which is then withdrawn: {counts.total()} requests over HTTP, "
        + ", ".join(f"{counts[name]} {name}" for name in ORIGINS)
    )
    assert counts["failed"] == counts["mixed"] == 0
    assert counts["read by the new ones alone"] > 0


async def read_until(client: httpx.AsyncClient, data: bytes, status: int, headers: Mapping[str, str]) -> httpx.Response:
    """The first answer with this status: gateways look every two seconds whether there is a candidate."""
    while (response := await read(client, data, headers)).status_code != status:  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(0.1)
    return response


async def test_what_serves_is_said(stand: Stand, capsys: pytest.CaptureFixture[str]) -> None:
    assert await stand.command("status") == 0
    assert "text_recognition: 1\n" in (said := capsys.readouterr().err)
    assert "its models work" in said


async def test_who_has_not_the_key_releases_nothing(
    stand: Stand, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_ADMIN_KEY", "wrong")
    before = folders(stand.served)
    assert await stand.command("deploy", str(source)) == 1
    assert folders(stand.served) == before
    assert releases.summary(stand.served) == releases.summary(source)


async def test_what_can_not_be_loaded_changes_nothing_and_leaves_triton_ready(
    stand: Stand, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(source, tmp_path / "broken")
    (tmp_path / "broken" / "text_recognition" / "1" / "model.onnx").write_bytes(b"not a model")
    before = folders(stand.served)
    assert await stand.command("deploy", str(tmp_path / "broken")) == 1
    assert "did not load candidate_text_recognition" in capsys.readouterr().err
    assert folders(stand.served) == before
    assert stand.server.is_ready(), (
        "without --strict-readiness=false one model that fails takes a sound server out of service"
    )


def folders(repository: Path) -> list[str]:
    return sorted(path.name for path in repository.iterdir())
