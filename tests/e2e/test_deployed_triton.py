"""The command lines of Triton in deploy/ and in the documents, on the real server."""

import http.client
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import grpc
import pytest
from gateways import connected
from served_models import SHAPED
from tiny_tritons import TinyTriton
from tritonclient.grpc.service_pb2 import (
    LogSettingsRequest,
    RepositoryModelLoadRequest,
    SystemSharedMemoryStatusRequest,
)
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from gateway.inference.checkup import check_up
from tests.ops import deployed
from triton_models.plans import Names
from triton_models.runtime import TritonRuntime
from triton_models.server import LOOPBACK, Ports, TritonProcess

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
KEY = "0123456789abcdef"
COMMANDS = deployed.triton_commands()
OURS = {"--model-set", "--model-sets"}
"""Flags of our own commands that begin like one of Triton's; all of its own have two words or more."""


@pytest.fixture(scope="module")
def known(triton_runtime: TritonRuntime) -> set[str]:
    """Every flag in the server's --help."""
    environment = triton_runtime.environment(os.environ)
    text = subprocess.run(
        [triton_runtime.server, "--help"], env=environment, capture_output=True, text=True, check=False
    )
    return set(re.findall(r"(?m)^\s*(--[a-z0-9-]+)", text.stdout + text.stderr))


@pytest.mark.parametrize("where", COMMANDS)
def test_every_flag_of_a_deployed_command_line_is_one(where: str, known: set[str]) -> None:
    assert {f"--{flag}" for flag in deployed.flags(COMMANDS[where])} - known == set()


def test_every_flag_of_triton_in_the_documents_is_one(known: set[str]) -> None:
    families = {flag.split("-")[2] for flag in known} - {"help", "id"}
    text = "\n".join(path.read_text() for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    named = {flag for flag in re.findall(r"(?<![\w-])--[a-z0-9]+-[a-z0-9-]+", text) if flag.split("-")[2] in families}
    assert named - known - OURS == set()


@pytest.fixture(scope="module")
def restricted(
    triton_runtime: TritonRuntime, repositories: Mapping[Names, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TritonProcess]:
    """A server with the deployed flags, but for paths, ports and addresses; it has models of one shape each as well."""
    folder = tmp_path_factory.mktemp("restricted")
    TinyTriton(triton_runtime, folder)  # for its models
    own = {"model-repository", "model-control-mode", "exit-timeout-secs"}
    own |= {f"{name}-{what}" for name in ("http", "grpc", "metrics") for what in ("address", "port")}
    flags = {flag: value for flag, value in deployed.flags(COMMANDS["compose cpu"]).items() if flag not in own}
    with TritonProcess(
        triton_runtime,
        folder / "models",
        log_file=folder / "log",
        ports=Ports.free(),
        model_control="explicit",
        extra_flags=[
            f"--model-repository={repositories[SHAPED]}",
            *(f"--{flag}={with_key(value)}" if value else f"--{flag}" for flag, value in flags.items()),
        ],
    ) as server:
        yield server


def with_key(value: str) -> str:
    """What Compose makes of it."""
    return re.sub(r"\$\{TRITON_ADMIN_KEY.*}", KEY, value)


async def test_a_gateway_needs_no_key_for_what_it_asks(restricted: TritonProcess) -> None:
    await check_up(restricted.grpc_address)


async def test_nor_for_finding_models_of_one_shape_each(restricted: TritonProcess) -> None:
    async with connected(restricted, SHAPED) as backend:
        assert backend.contract.detection.shapes == ((320, 480),)
        assert {model.bucket_width for model in backend.contract.recognition.models} == {160, 320}


async def test_who_administers_triton_needs_the_key(restricted: TritonProcess) -> None:
    async with grpc.aio.insecure_channel(restricted.grpc_address) as channel:
        stub = GRPCInferenceServiceStub(channel)
        for call, request in (
            (stub.RepositoryModelLoad, RepositoryModelLoadRequest(model_name="text_detection")),
            (stub.SystemSharedMemoryStatus, SystemSharedMemoryStatusRequest()),
            (stub.LogSettings, LogSettingsRequest()),
        ):
            with pytest.raises(grpc.aio.AioRpcError, match="This protocol is restricted"):
                await call(request, timeout=10)
            await call(request, timeout=30, metadata=[("triton-grpc-protocol-admin-key", KEY)])


@pytest.mark.parametrize("path", ["/v2/repository/index", "/v2/systemsharedmemory/status", "/v2/logging"])
def test_it_is_the_same_over_http(restricted: TritonProcess, path: str) -> None:
    assert status(restricted, path, {}) == 403
    assert status(restricted, path, {"admin-key": "wrong"}) == 403
    assert status(restricted, path, {"admin-key": KEY}) == 200


def status(server: TritonProcess, path: str, headers: dict[str, str]) -> int:
    """The status of an answer."""
    connection = http.client.HTTPConnection(LOOPBACK, server.ports.http, timeout=10)
    try:
        connection.request("POST" if path.endswith("index") else "GET", path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_its_log_can_be_told_apart_by_severity(restricted: TritonProcess) -> None:
    lines = restricted.log_file.read_text().splitlines()
    severities = {line[:3] for line in deployed.by_severity("\n".join(lines)).splitlines() if " server.cc:" in line}
    assert {"<3>", "<6>"} <= severities, "it finds no driver for a GPU, and says so as an error"
    assert {deployed.collected(line)["level"] for line in lines if " model_lifecycle.cc:" in line} == {"I"}
