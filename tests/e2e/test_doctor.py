"""The doctor on systems that are broken for real: it names what is broken, and nothing else; if nothing is, nothing."""

import asyncio
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from certificates import NAME, NEEDS_OPENSSL, make_authority
from gateways import ONLY_REQUESTS, running_gateway
from google.protobuf import text_format
from served_models import EDITED
from stopping import stopped
from tiny_tritons import Load, TinyTriton, tiny_tritons
from tritonclient.grpc.model_config_pb2 import ModelConfig

from gateway.__main__ import parser
from gateway.doctor.command import examine
from gateway.doctor.findings import Severity
from gateway.doctor.table import CHECKS
from gateway.inference.triton import TritonBackend
from gateway.local import GatewayProcess, PairOptions, base_url
from triton_models.catalog import DEFAULT_MODEL_SET
from triton_models.plans import Names
from triton_models.processes import group_members
from triton_models.server import LOOPBACK, Ports, TritonProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

QUICK = ("--skip", "triton-keepalive")
"""That check takes two seconds, and has a test of its own."""
TINY = ("--skip", "triton-reading", *QUICK)
"""Tiny models read nothing."""


WRONG = {Severity.WARNING, Severity.ERROR}
FOUND: list[list[str]] = []
"""Of each broken set-up so far, the checks that found something."""


@pytest.fixture(scope="module", autouse=True)
def counted(measured):
    """Says how many set-ups were broken."""
    yield
    checks = sorted({name for names in FOUND for name in names})
    measured(f"doctor: {len(FOUND)} set-ups broken for real, found by {len(checks)} checks: {', '.join(checks)}")


async def diagnose(*arguments):
    """What is wrong, by check: its words, and what was seen."""
    findings = await examine(parser().parse_args(["doctor", *map(str, arguments)]))
    assert findings
    found = {one.check: f"{one.what} {one.evidence}" for one in findings if one.severity in WRONG}
    FOUND.extend([list(found)] if found else [])
    return found


async def assert_only(check, words, *arguments):
    """This check finds something, in these words, and no other does."""
    found = await diagnose(*arguments)
    assert list(found) == [check], found
    assert words in found[check]


def run(*arguments):
    command = [sys.executable, "-m", "gateway", "doctor", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def free_port():
    return Ports.free().http


def everything(triton, gateway):
    """Options that name all there is to look at."""
    own, web = f"http://{LOOPBACK}", triton.ports
    return (
        *("--gateway", gateway, "--triton", triton.grpc_address, "--pid", triton.pid, "--triton-log", triton.log_file),
        *("--triton-http", f"{own}:{web.http}", "--triton-metrics", f"{own}:{web.metrics}/metrics"),
    )


# A healthy one.


@pytest.fixture(scope="module")
def healthy(triton_runtime, repositories, tmp_path_factory) -> Iterator[TritonProcess]:
    """A server whose log has nothing of other tests."""
    log = tmp_path_factory.mktemp("healthy") / "triton.log"
    with TritonProcess(triton_runtime, repositories[EDITED], log_file=log, ports=Ports.free()) as server:
        yield server


def test_of_a_healthy_system_nothing_is_said(healthy):
    with running_gateway(healthy.grpc_address) as url:
        told = run(*everything(healthy, url))
    assert (told.stdout, told.returncode) == ("", 0), told.stdout + told.stderr
    assert told.stderr == f"{len(CHECKS)} findings: {len(CHECKS)} ok\n"


# Addresses, protocols and certificates.


async def test_nobody_listens(triton):
    await assert_only("triton-address", "nobody listens", "--triton", f"{LOOPBACK}:{free_port()}")


async def test_a_name_has_no_address():
    await assert_only("triton-address", "has no address", "--triton", "no-such-host.invalid:8001")


async def test_the_http_port_is_given_for_grpc(triton):
    await assert_only("triton-protocol", "speaks HTTP/1.1", "--triton", f"{LOOPBACK}:{triton.ports.http}")


async def test_the_grpc_port_is_given_for_a_gateway(triton):
    arguments = ("--gateway", f"http://{triton.grpc_address}")
    await assert_only("gateway-alive", "does not speak HTTP/1.1", *arguments)


async def test_tritons_http_port_is_given_for_a_gateway(triton):
    arguments = ("--gateway", f"http://{LOOPBACK}:{triton.ports.http}")
    await assert_only("gateway-alive", "/livez is answered 404", *arguments)


@pytest.fixture(scope="module")
def authorities(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("authorities")
    for name, days in (("expired", 0), ("ours", 90), ("foreign", 90)):
        make_authority(folder / name, days)
    return folder


@contextmanager
def encrypted(runtime, folder, authority, *flags):
    """A tiny Triton with the certificate of an authority."""
    own = (f"--grpc-server-cert={authority}/server.pem", f"--grpc-server-key={authority}/server.key")
    tiny = TinyTriton(runtime, folder, ("--grpc-use-ssl=true", *own, f"--grpc-root-cert={authority}/ca.pem", *flags))
    with tiny.process:
        yield ("--triton", tiny.address, *TINY)


def trusting(authority, name=NAME):
    return ("--triton-ca", authority / "ca.pem", "--triton-server-name", name)


@NEEDS_OPENSSL
async def test_what_is_wrong_with_tls(triton, triton_runtime, authorities, tmp_path):
    ours, foreign = authorities / "ours", authorities / "foreign"
    with encrypted(triton_runtime, tmp_path, ours) as where:
        assert await diagnose(*where, *trusting(ours)) == {}
        await assert_only("triton-protocol", "speaks TLS, not HTTP/2", *where)
        await assert_only("triton-tls", "authority that is not trusted", *where, *trusting(foreign))
        await assert_only("triton-tls", "not for another.test", *where, *trusting(ours, "another.test"))
    plain = ("--triton", triton.grpc_address, *trusting(ours))
    await assert_only("triton-protocol", "speaks HTTP/2 (gRPC), not TLS", *plain)


@NEEDS_OPENSSL
async def test_a_certificate_has_expired_and_the_gateway_has_none(triton_runtime, authorities, tmp_path):
    expired, ours = authorities / "expired", authorities / "ours"
    with encrypted(triton_runtime, tmp_path / "expired", expired) as where:
        await assert_only("triton-tls", "has expired", *where, *trusting(expired))
    with encrypted(triton_runtime, tmp_path / "mutual", ours, "--grpc-use-ssl-mutual=true") as where:
        await assert_only("triton-tls", "breaks off", *where, *trusting(ours))


# Models.


async def test_a_model_is_missing(triton, monkeypatch):
    monkeypatch.setenv("OCR_RECOGNITION_MODEL", "misspelt")
    await assert_only("triton-contract", "no model misspelt", "--triton", triton.grpc_address, *QUICK)


def copy_models(source: Path, target: Path, prefix: str, charset) -> None:
    """A repository under other names whose recogniser has another charset."""
    for kind in ("detection", "recognition"):
        model, copy = source / f"text_{kind}", target / f"{prefix}_{kind}"
        config = text_format.Parse((model / "config.pbtxt").read_text(), ModelConfig())
        config.name = copy.name
        if kind == "recognition":
            texts = config.parameters["charset"].string_value.split("\n")
            config.parameters["charset"].string_value = "\n".join(charset(texts))
        (copy / "1").mkdir(parents=True)
        (copy / "1" / "model.onnx").symlink_to(model / "1" / "model.onnx")
        (copy / "config.pbtxt").write_text(text_format.MessageToString(config, as_utf8=True))


@pytest.fixture(scope="module")
def misread(triton_runtime, repositories: Mapping[Names, Path], tmp_path_factory) -> Iterator[TritonProcess]:
    """A server whose models are right, and whose charsets are not: one is too short, one is shifted."""
    folder = tmp_path_factory.mktemp("misread")
    copy_models(repositories[EDITED], folder / "models", "short", lambda texts: texts[1:])
    copy_models(repositories[EDITED], folder / "models", "shifted", lambda texts: [*texts[1:-1], texts[0], texts[-1]])
    with TritonProcess(triton_runtime, folder / "models", log_file=folder / "log", ports=Ports.free()) as server:
        yield server


@pytest.mark.parametrize(
    ("models", "check", "words"),
    [("short", "triton-charset", "18709 classes, but"), ("shifted", "triton-reading", "read wrongly")],
)
async def test_a_charset_is_not_that_of_the_model(misread, models, check, words, monkeypatch):
    monkeypatch.setenv("OCR_DETECTION_MODEL", f"{models}_detection")
    monkeypatch.setenv("OCR_RECOGNITION_MODEL", f"{models}_recognition")
    await assert_only(check, words, "--triton", misread.grpc_address, *QUICK)


async def test_a_tensor_has_another_type(triton_runtime, tmp_path):
    tiny = TinyTriton(triton_runtime, tmp_path)
    config = tmp_path / "models" / "text_recognition" / "config.pbtxt"
    config.write_text(config.read_text().replace("TYPE_INT32", "TYPE_INT64"))
    with tiny.process:
        await assert_only("triton-contract", "TYPE_INT64 [-1], expected TYPE_INT32", "--triton", tiny.address, *QUICK)


@pytest.fixture(scope="module")
def sick(triton_runtime, tmp_path_factory) -> Iterator[TinyTriton]:
    """A server for the tests that follow, each of which makes it worse."""
    with tiny_tritons(triton_runtime, tmp_path_factory.mktemp("sick"), 1) as (tiny,):
        yield tiny
        os.killpg(tiny.pid, signal.SIGKILL)  # with a dead stub, or one that hangs, it would be waited for


async def test_a_triton_is_stopped(sick):
    with stopped(sick.pid):
        await assert_only("triton-protocol", "speaks nothing", "--triton", sick.address)


@pytest.mark.parametrize(
    ("model", "how", "words"),
    [
        ("text_detection", "fail", "text_detection: the model failed"),
        ("text_detection", "exit", "text_detection: the model's process has died"),
    ],
)
async def test_triton_says_that_it_is_ready_and_is_not(sick, model, how, words):
    sick.break_model(model, how)
    words = f"Triton says that it is ready, but {words}"
    await assert_only("triton-inference", words, "--triton", sick.address, *QUICK)


async def test_nor_is_it_when_a_model_hangs(triton_runtime, tmp_path):
    with tiny_tritons(triton_runtime, tmp_path, 1) as (tiny,):
        tiny.break_model("text_recognition", "hang")
        words = "Triton says that it is ready, but text_recognition: no answer in time"
        await assert_only("triton-inference", words, "--triton", tiny.address, *QUICK)
        os.killpg(tiny.pid, signal.SIGKILL)  # it would be waited for


# Servers that are started wrongly, or have too much to do.


async def test_a_triton_is_started_without_the_flags_of_deploy(triton_runtime, tmp_path):
    """It allows no pings, and listens for everybody."""
    flags = (
        "--grpc-address=0.0.0.0",
        "--grpc-http2-min-recv-ping-interval-without-data=300000",
        "--grpc-http2-max-ping-strikes=2",
        "--grpc-keepalive-permit-without-calls=0",
    )
    with TinyTriton(triton_runtime, tmp_path, flags).process as server:
        found = await diagnose("--triton", server.grpc_address, "--skip", "triton-reading")
    assert sorted(found) == ["machine-ports", "triton-keepalive", "triton-management", "triton-version"]
    assert "Too many pings" in found["triton-keepalive"]
    assert "listens on" in found["machine-ports"]
    assert "may use model-repository, shared-memory, logging, trace" in found["triton-management"]


async def test_work_piles_up_in_a_triton(triton_runtime, tmp_path):
    with tiny_tritons(triton_runtime, tmp_path, 1) as (tiny,):
        tiny.break_model("text_detection", "dawdle")
        backend = await TritonBackend.connect(tiny.address)
        load = asyncio.create_task(Load(backend, per_second=60, timeout_s=60).run(600))
        await asyncio.sleep(1)
        metrics = f"http://{LOOPBACK}:{tiny.process.ports.metrics}/metrics"
        found = await diagnose("--triton", tiny.address, "--triton-metrics", metrics, "--only", "triton-queue")
        load.cancel()
        await asyncio.gather(load, return_exceptions=True)
        await backend.close()
    assert "requests wait for text_detection" in found["triton-queue"]


async def test_two_tritons_serve_different_models(triton_runtime, tmp_path):
    one, other = TinyTriton(triton_runtime, tmp_path / "1"), TinyTriton(triton_runtime, tmp_path / "2")
    config = tmp_path / "2" / "models" / "text_recognition" / "config.pbtxt"
    config.write_text(config.read_text().replace("a\\nb\\n ", "b\\na\\n "))
    with one.process, other.process:
        arguments = ("--triton", one.address, "--triton", other.address, *TINY)
        await assert_only("fleet-contracts", "class 1: 'b' here, 'a' in use", *arguments)


async def test_a_model_did_not_load(triton_runtime, tmp_path):
    tiny = TinyTriton(triton_runtime, tmp_path, ("--exit-on-error=false", "--strict-readiness=false"))
    (tmp_path / "models" / "text_recognition" / "1" / "model.py").write_text("broken")
    with tiny.process as server:
        found = await diagnose("--triton", server.grpc_address, "--triton-log", server.log_file, *QUICK)
    assert sorted(found) == ["log-models", "triton-contract"]
    assert "failed to load 'text_recognition'" in found["log-models"]


# Gateways.


@contextmanager
def starting_gateway(triton_address: str, **settings: str):
    """A gateway process that answers, ready or not."""
    options = PairOptions("triton", LOOPBACK, free_port(), DEFAULT_MODEL_SET, Path())
    own = {"OCR_HOST": LOOPBACK, "OCR_PORT": str(options.port), "OCR_TRITON_ADDRESSES": triton_address}
    with GatewayProcess(own | settings, options):
        yield base_url(options)


async def answers(url):
    """Return once somebody listens."""
    host, _, port = url.removeprefix("http://").partition(":")
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            await asyncio.sleep(0.05)
        else:
            return


async def test_a_gateway_is_not_ready_and_says_why(triton_runtime, tmp_path):
    with tiny_tritons(triton_runtime, tmp_path, 1) as (tiny,), starting_gateway(tiny.address) as url:
        await answers(url)
        await assert_only("gateway-ready", "it is not ready the known picture was read as", "--gateway", url)


async def test_a_gateway_that_leaves_a_triton_out_has_stopped_then(triton):
    gone = f"{LOOPBACK}:{free_port()}"
    options = PairOptions("triton", LOOPBACK, free_port(), DEFAULT_MODEL_SET, Path())
    own = {
        "OCR_HOST": LOOPBACK,
        "OCR_PORT": str(options.port),
        "OCR_TRITON_ADDRESSES": f"{triton.grpc_address},{gone}",
    }
    with GatewayProcess(own, options) as process:
        process.wait_ready(60)
        url = base_url(options)
        await assert_only("gateway-ready", f"1 of its 2 Tritons get no calls {gone} is unreachable", "--gateway", url)
        os.kill(process.pid, signal.SIGSTOP)
        await assert_only("gateway-alive", "takes connections and does not answer", "--gateway", url)
        os.kill(process.pid, signal.SIGKILL)  # it would be waited for


async def test_a_gateway_listens_for_everybody_and_may_open_few_files(triton):
    options = PairOptions("triton", LOOPBACK, free_port(), DEFAULT_MODEL_SET, Path())
    own = {"OCR_HOST": "0.0.0.0", "OCR_PORT": str(options.port), "OCR_TRITON_ADDRESSES": triton.grpc_address}
    with GatewayProcess(own, options) as process:
        await answers(base_url(options))
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (900, 900))
        checks = ("--only", "gateway-exposure", "--only", "gateway-files")
        found = await diagnose("--gateway", base_url(options), *checks)
    assert sorted(found) == ["gateway-exposure", "gateway-files"]
    assert "can read /metrics and /docs" in found["gateway-exposure"]
    assert "900" in found["gateway-files"]


async def test_a_gateway_says_that_it_is_ready_and_is_not(healthy):
    """The last test of the healthy server: the process of its recogniser is killed."""
    with running_gateway(healthy.grpc_address, **ONLY_REQUESTS) as url:
        (recogniser,) = [pid for pid in group_members(healthy.pid) if "/text_recognition/1/" in command_of(pid)]
        os.kill(recogniser, signal.SIGKILL)
        found = await diagnose("--gateway", url, "--triton", healthy.grpc_address, *QUICK)
    assert sorted(found) == ["gateway-reading", "triton-inference"]
    assert "says that it is ready, but can't read" in found["gateway-reading"]
    assert "text_recognition: the model's process has died" in found["triton-inference"]


def command_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


# This machine.

GROWS = "import time; held = []\nwhile True: held.append(bytearray(b'x' * 4_000_000)); time.sleep(0.05)"


async def test_a_process_may_open_few_files_and_grows():
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", GROWS)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (256, 256))
    try:
        found = await diagnose("--pid", process.pid, "--only", "machine-files", "--only", "machine-growth")
    finally:
        process.kill()
        await process.wait()
    assert "of 256 files open" in found["machine-files"]
    assert "grows: by" in found["machine-growth"]
