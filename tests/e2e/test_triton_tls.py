"""Connections that are encrypted, to a real server that asks for the gateway's certificate as well."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from certificates import NAME, NEEDS_OPENSSL, make_authority
from tiny_tritons import IMAGE, TinyTriton

from gateway.app import make_backend
from gateway.errors import BackendUnavailable
from gateway.inference.channels import TritonTls
from gateway.inference.triton import TritonBackend
from gateway.settings import Settings
from triton_models.runtime import TritonRuntime
from triton_models.server import Ports, TritonProcess

pytestmark = [pytest.mark.e2e, NEEDS_OPENSSL]


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls") / "ours"
    make_authority(folder)
    return folder


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls") / "foreign"
    make_authority(folder)
    return folder


@pytest.fixture(scope="module")
def server(
    triton_runtime: TritonRuntime, ours: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TritonProcess]:
    folder = tmp_path_factory.mktemp("triton")
    TinyTriton(triton_runtime, folder)  # for its models
    flags = [
        "--grpc-use-ssl=true",
        "--grpc-use-ssl-mutual=true",
        f"--grpc-server-cert={ours}/server.pem",
        f"--grpc-server-key={ours}/server.key",
        f"--grpc-root-cert={ours}/ca.pem",
    ]
    log, models = folder / "log", folder / "models"
    with TritonProcess(triton_runtime, models, log_file=log, ports=Ports.free(), extra_flags=flags) as server:
        yield server


def settings(server: TritonProcess, folder: Path) -> Settings:
    return Settings(
        triton_addresses=server.grpc_address,
        triton_ca=folder / "ca.pem",
        triton_certificate=folder / "gateway.pem",
        triton_key=folder / "gateway.key",
        triton_server_name=NAME,
    )


async def test_a_gateway_with_a_certificate_is_served(server: TritonProcess, ours: Path) -> None:
    backend = make_backend(settings(server, ours))
    try:
        await backend.refresh()
        assert not np.any(await backend.detect(IMAGE, timeout_s=20))
    finally:
        await backend.close()


async def refused(server: TritonProcess, tls: TritonTls | None) -> bool:
    with pytest.raises(BackendUnavailable):
        await TritonBackend.connect(server.grpc_address, timeout_s=2, tls=tls)
    return True


async def test_a_gateway_without_one_is_not(server: TritonProcess, ours: Path) -> None:
    assert await refused(server, TritonTls((ours / "ca.pem").read_bytes(), server_name=NAME))
    assert await refused(server, None)


async def test_nor_is_one_with_a_certificate_of_somebody_else(server: TritonProcess, ours: Path, foreign: Path) -> None:
    own = ((foreign / f"gateway.{suffix}").read_bytes() for suffix in ("pem", "key"))
    assert await refused(server, TritonTls((ours / "ca.pem").read_bytes(), *own, NAME))


@pytest.mark.parametrize("name", ["", "another.test"])
async def test_a_gateway_talks_to_nobody_who_has_not_the_right_name(
    server: TritonProcess, ours: Path, name: str
) -> None:
    own = ((ours / f"gateway.{suffix}").read_bytes() for suffix in ("pem", "key"))
    assert await refused(server, TritonTls((ours / "ca.pem").read_bytes(), *own, name))


async def test_a_gateway_talks_to_nobody_whose_certificate_another_has_signed(
    server: TritonProcess, ours: Path, foreign: Path
) -> None:
    own = ((ours / f"gateway.{suffix}").read_bytes() for suffix in ("pem", "key"))
    assert await refused(server, TritonTls((foreign / "ca.pem").read_bytes(), *own, NAME))
