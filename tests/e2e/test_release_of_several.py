"""Models of two real Tritons over TLS are replaced on both or on neither, whatever happens in the middle."""

import asyncio
import shutil
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certificates import NAME, NEEDS_OPENSSL, make_authority
from tiny_tritons import IMAGE, MODEL, add_models

from gateway.__main__ import main
from gateway.candidate import Candidate, Candidates
from gateway.inference.channels import TlsFiles
from gateway.inference.checkup import check_up
from gateway.inference.triton import TritonBackend
from gateway.rollout.command import versions_in
from gateway.rollout.reading import PATIENT
from triton_models import releases
from triton_models.runtime import TritonRuntime
from triton_models.server import Ports, TritonProcess

pytestmark = [pytest.mark.e2e, NEEDS_OPENSSL, pytest.mark.timeout(300)]

SLOW_START = MODEL.replace("def initialize(self, args):", "def initialize(self, args):\n        time.sleep(0.7)")
"""It takes a moment to load, in which something can happen."""


@dataclass
class Pair:
    """Two servers of one repository.

    Attributes:
        servers: themselves.
        served: the repository.
        source: what is to be released.
        certificates: the folder.
    """

    servers: list[TritonProcess]
    served: Path
    source: Path
    certificates: Path

    @property
    def addresses(self) -> str:
        return ",".join(server.grpc_address for server in self.servers)

    def arguments(self, action: str, *more: str) -> list[str]:
        source = [str(self.source)] if action == "deploy" else []
        return [
            "models",
            action,
            *source,
            "--repository",
            str(self.served),
            "--triton",
            self.addresses,
            *more,
            *self.tls(),
        ]

    def tls(self) -> list[str]:
        files = {"ca": "ca.pem", "certificate": "gateway.pem", "key": "gateway.key"}
        options = [part for name, file in files.items() for part in (f"--triton-{name}", f"{self.certificates}/{file}")]
        return [*options, "--triton-server-name", NAME]

    async def command(self, action: str, *more: str) -> int:
        return await asyncio.to_thread(main, self.arguments(action, *more))

    def files(self) -> TlsFiles:
        names = ("ca.pem", "gateway.pem", "gateway.key")
        return TlsFiles(*(self.certificates / name for name in names), server_name=NAME)

    async def versions(self) -> list[set[str]]:
        """Those that each server has loaded."""
        tls = self.files().read()
        contracts = [await check_up(server.grpc_address, answer_s=20, tls=tls) for server in self.servers]
        return [set(versions_in(contract).values()) for contract in contracts]

    async def until(self, action: str, sign: str) -> asyncio.subprocess.Process:
        """Run the command in a process of its own, up to a line that contains this."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "gateway", *self.arguments(action), stderr=asyncio.subprocess.PIPE
        )
        assert process.stderr is not None
        while sign not in (line := (await process.stderr.readline()).decode()):
            assert line, "it ended before"
        return process

    async def kill_between(self, action: str) -> None:
        """Kill the command with SIGKILL when it has switched the first server and not the second."""
        process = await self.until(action, f"{self.servers[0].grpc_address}: text_detection, text_recognition loaded")
        process.kill()
        await process.communicate()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls") / "ours"
    make_authority(folder)
    return folder


@pytest.fixture(scope="module")
def pair(triton_runtime: TritonRuntime, certificates: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    served, source = folder / "models", folder / "source"
    add_models(served)
    shutil.copytree(served, source)
    for file in source.glob("*/1/model.py"):
        file.write_text(SLOW_START)
    flags = [
        "--load-model=*",
        "--strict-readiness=false",
        "--grpc-use-ssl=true",
        "--grpc-use-ssl-mutual=true",
        f"--grpc-server-cert={certificates}/server.pem",
        f"--grpc-server-key={certificates}/server.key",
        f"--grpc-root-cert={certificates}/ca.pem",
    ]
    servers = [
        TritonProcess(
            triton_runtime,
            served,
            log_file=folder / f"log{number}",
            ports=Ports.free(),
            model_control="explicit",
            extra_flags=flags,
        )
        for number in range(2)
    ]
    with servers[0], servers[1]:
        yield Pair(servers, served, source, certificates)


async def test_tritons_that_want_tls_are_spoken_to_with_the_certificates_of_the_options(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    unencrypted = [part for part in pair.arguments("deploy") if part not in pair.tls()]
    assert await asyncio.to_thread(main, unencrypted) == 1
    assert releases.summary(pair.served) == [("text_detection", [1]), ("text_recognition", [1])]
    capsys.readouterr()
    assert await pair.command("status") == 0
    assert capsys.readouterr().err.count("its models work\n") == 2


async def test_a_candidate_is_offered_on_every_triton_followed_by_gateways_and_gone_when_it_is_withdrawn(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    tls = pair.files().read()
    async with AsyncExitStack() as stack:
        serving = await TritonBackend.connect(pair.addresses, timeout_s=20, watch=PATIENT, tls=tls)
        stack.push_async_callback(serving.close)

        def connect() -> Candidate:
            names = {"detection_model": "candidate_text_detection", "recognition_model": "candidate_text_recognition"}
            backend = TritonBackend(pair.addresses, timeout_s=20, watch=PATIENT, tls=tls, label="candidate", **names)
            return Candidate(backend, NoReader())

        candidates = Candidates(serving.candidate_share, connect, interval_s=60)
        stack.push_async_callback(candidates.close)
        await candidates.look()
        assert candidates.current is None
        for share in (10.0, 25.0):
            assert await pair.command("deploy", "--share", str(share)) == 0
            await candidates.look()
            while candidates.current is None or candidates.current.backend.servers < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.05)  # one that was not loaded a moment ago is examined four times a second
            assert candidates.current.share == share
        assert not np.any(await candidates.current.backend.detect(IMAGE, timeout_s=20))
        capsys.readouterr()
        assert await pair.command("status") == 0
        assert capsys.readouterr().err.count("the candidate: works, and reads 25 % of the requests") == 2
        assert await pair.command("rollback") == 0
        await candidates.look()
        assert candidates.current is None
    assert await pair.versions() == [{"1"}, {"1"}]
    assert releases.summary(pair.served) == [("text_detection", [1]), ("text_recognition", [1])]


class NoReader:
    """Of nothing: the models themselves are called."""

    async def open(self, *_: Any, **__: Any) -> Any: ...

    async def read(self, *_: Any, **__: Any) -> Any: ...


async def test_what_was_killed_between_two_tritons_is_told_and_finished_by_the_next_command(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    await pair.kill_between("deploy")
    assert await pair.versions() == [{"2"}, {"1"}]
    assert await pair.command("status") == 0
    said = capsys.readouterr().err
    assert "unfinished: a deploy was interrupted" in said
    first, second = (server.grpc_address for server in pair.servers)
    assert f"{first}: its models work\n" in said
    assert f"{second}: its models work, but do not follow the folder: text_detection is at 1" in said

    assert await pair.command("deploy") == 0
    assert await pair.versions() == [{"2"}, {"2"}]
    assert "going back first" in capsys.readouterr().err

    await pair.kill_between("rollback")
    assert await pair.versions() == [{"1"}, {"2"}]
    assert await pair.command("status") == 0
    assert "unfinished: a rollback was interrupted" in capsys.readouterr().err
    assert await pair.command("rollback") == 0
    assert await pair.versions() == [{"1"}, {"1"}]
    assert releases.unfinished(pair.served) == ""


async def test_one_triton_that_is_away_keeps_a_release_from_all_and_is_named(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    before = releases.summary(pair.served)
    second = pair.servers[1]
    deploying = await pair.until("deploy", "candidate: ")  # verified; now it is switched
    second.stop(timeout_s=0)
    assert deploying.stderr is not None
    said = (await deploying.stderr.read()).decode()
    assert await deploying.wait() == 1
    assert f"{second.grpc_address} did not load text_detection" in said
    assert "All others did" in said
    assert releases.summary(pair.served) == before
    second.start()
    await asyncio.to_thread(second.wait_ready)
    assert await pair.versions() == [{"1"}, {"1"}]
    assert await pair.command("rollback") == 0
    assert releases.unfinished(pair.served) == ""

    second.stop(timeout_s=0)
    capsys.readouterr()
    assert await pair.command("deploy") == 1, "this time it is known before"
    assert f"{second.grpc_address} does not work as it is" in capsys.readouterr().err
    assert releases.unfinished(pair.served) == ""
    assert releases.summary(pair.served) == before
