"""The nginx of `deploy/nginx` in front of gateways, and what it does by itself."""

import asyncio
import json
import re
import shutil
import socket
import ssl
import subprocess
from contextlib import asynccontextmanager

import httpx
import pytest
from servers import log_of

from gateway.canary import KNOWN_PICTURE, KNOWN_TEXT
from gateway.settings import Settings
from gateway.web.problems import PROBLEMS, Problem, is_retryable
from tests.deployed_nginx import DEPLOYED, Nginx, nginx_is_missing, running, with_servers
from triton_models.server import Ports

NEEDS_NGINX = pytest.mark.skipif(bool(nginx_is_missing()), reason=nginx_is_missing())
NEEDS_OPENSSL = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not on PATH")


def default_of(setting):
    return Settings.model_fields[setting].default


def told(name, text):
    """The value of a directive, without its unit."""
    return float(re.search(rf"^\s*{name} ([\d.]+)", text, re.MULTILINE).group(1))


# What can be told from the files


def test_the_limits_fit_those_of_the_gateway():
    main, gateways, proxy = ((DEPLOYED / f"{name}.conf").read_text() for name in ("nginx", "gateways", "proxy"))
    assert told("client_max_body_size", main) == default_of("max_body_bytes")
    assert told("client_header_timeout", main) == default_of("header_timeout_s")
    assert default_of("max_header_bytes") == 4 * 4096
    assert "large_client_header_buffers 4 4k;" in main
    assert told("keepalive_timeout", gateways) < default_of("drain_delay_s") < default_of("keep_alive_s")
    assert told("proxy_read_timeout", proxy) > default_of("max_timeout_s")


def test_what_it_says_by_itself_is_said_in_the_words_of_the_gateway():
    text = (DEPLOYED / "problems.conf").read_text().replace("\\'", "'")
    problems = [Problem.model_validate_json(document) for document in re.findall(r"'(\{.*?\})';", text, re.DOTALL)]
    assert len(problems) == 8
    for problem in problems:
        kind = PROBLEMS[problem.code]
        assert (problem.title, problem.status) == (kind.title, kind.status)
        assert problem.type == f"/problems/{problem.code}"
        assert problem.retryable == is_retryable(problem.code)
        assert (problem.retry_after_ms is not None) == (kind.status in (429, 503))
        wait = f"add_header Retry-After {(problem.retry_after_ms or 0) // 1000} always;\n    return {kind.status}"
        assert (wait in text) == (kind.status in (429, 503))


def test_every_status_that_nginx_gives_has_an_answer_of_its_own():
    text = (DEPLOYED / "problems.conf").read_text()
    answered = set(re.findall(r"/@problems/(\w+);", text))
    assert answered == set(re.findall(r"location = /@problems/(\w+)", text))
    statuses = {status for line in re.findall(r"^error_page (.*) /", text, re.MULTILINE) for status in line.split()}
    assert {"400", "404", "405", "413", "414", "429", "431", "494", "502", "503", "504"} <= statuses


UPSTREAM = """\
upstream gateways {
    # why
    server 127.0.0.1:8081 max_fails=1 fail_timeout=2s;
    server 127.0.0.1:8082 max_fails=1 fail_timeout=2s;
    keepalive 64;
}
"""


def test_the_gateways_of_a_test_take_the_place_of_those_deployed():
    assert with_servers(UPSTREAM, [1, 2, 3]).splitlines()[2:] == [
        "    server 127.0.0.1:1 max_fails=1 fail_timeout=2s;",
        "    server 127.0.0.1:2 max_fails=1 fail_timeout=2s;",
        "    server 127.0.0.1:3 max_fails=1 fail_timeout=2s;",
        "    keepalive 64;",
        "}",
    ]


def test_nginx_writes_into_the_folder_of_the_test(tmp_path):
    nginx = Nginx(tmp_path / "nginx", [8])
    text = (nginx.folder / "nginx.conf").read_text()
    assert "/var/log" not in text
    assert f"error_log {nginx.folder}/error.log" in text
    assert (nginx.folder / "listen.conf").read_text().startswith(f"listen 127.0.0.1:{nginx.port} ")


def test_a_configuration_that_has_changed_is_noticed(tmp_path):
    with pytest.raises(AssertionError, match="has no 'limit_conn nobody'"):
        Nginx(tmp_path / "nginx", [8], replaced={"limit_conn nobody": "limit_conn all"})


# With a real nginx


@NEEDS_NGINX
def test_the_configuration_is_valid(tmp_path):
    assert "warn" not in Nginx(tmp_path / "nginx", (8081, 8082)).check()


def client_of(port):
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30)


async def read(client, **request):
    return await client.post("/v1/ocr", content=KNOWN_PICTURE, **request)


async def test_a_page_is_read(nginx_port):
    async with client_of(nginx_port) as client:
        answer = await read(client)
    assert answer.json()["pages"][0]["text"] == KNOWN_TEXT
    assert answer.headers["server-timing"].startswith("admission")


@pytest.mark.parametrize(("sent", "kept"), [("job-7", True), ("with space", False), ("x" * 129, False), ('"', False)])
async def test_a_request_has_one_id_in_both_logs_and_in_the_answer(nginx, gateway_ports, folder, sent, kept):
    async with client_of(nginx.port) as client:
        answer = await read(client, headers={"X-Request-Id": sent})
    [given] = answer.headers.get_list("x-request-id")
    assert given == answer.json()["request_id"]
    assert (given == sent) is kept
    line = await logged(given, nginx.folder / "access.log")
    assert (line["status"], line["upstream_status"], line["path"]) == (200, "200", "/v1/ocr")
    line = await logged(given, *(log_of(folder, port) for port in gateway_ports))
    assert (line["status"], line["route"]) == (200, "/v1/ocr")


async def logged(request_id, *logs):
    """The line with this id, which may take a moment to be written."""
    for _ in range(200):
        for line in (line for log in logs for line in log.read_text().splitlines()):
            if json.loads(line).get("request_id") == request_id:
                return json.loads(line)
        await asyncio.sleep(0.01)
    raise AssertionError("it was never logged")


async def test_its_own_problems_have_the_id_too(nginx_port):
    async with client_of(nginx_port) as client:
        answer = await client.get("/metrics", headers={"X-Request-Id": "job-8"})
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "/problems/not_found",
        "title": "There is nothing here",
        "status": 404,
        "detail": "there is nothing at this address; /docs lists all that there is",
        "instance": "",
        "code": "not_found",
        "request_id": "job-8",
        "retryable": False,
    }
    assert answer.headers["x-request-id"] == "job-8"


async def test_problems_of_a_gateway_pass_as_they_are(nginx_port):
    async with client_of(nginx_port) as client:
        answer = await client.post("/v1/ocr", content=b"no image")
    assert (answer.status_code, answer.json()["instance"]) == (415, "/v1/ocr")


@NEEDS_NGINX
async def test_too_many_images_at_once_are_refused_by_nginx(tmp_path, gateway_ports):
    replaced = {"limit_conn all 128": "limit_conn all 2"}
    with running(Nginx(tmp_path / "nginx", gateway_ports, replaced=replaced)) as nginx:
        async with client_of(nginx.port) as client:
            answers = await asyncio.gather(*(read(client) for _ in range(20)))
    refused = [answer for answer in answers if answer.status_code != 200]
    assert 0 < len(refused) < 20
    assert {(answer.status_code, answer.json()["code"]) for answer in refused} == {(503, "overloaded")}
    assert {answer.headers["retry-after"] for answer in refused} == {"1"}
    assert {answer.headers["connection"] for answer in refused} == {"close"}


@NEEDS_NGINX
async def test_batch_keeps_nobody_else_out(tmp_path, gateway_ports):
    """One address sends all of it; the burst of all is spent by neither what nginx refuses nor by half of the rest."""
    tight = {"batch_address 16": "batch_address 1", "burst=50 nodelay": "burst=10 nodelay"}
    with running(Nginx(tmp_path / "nginx", gateway_ports, replaced=tight)) as nginx:
        async with client_of(nginx.port) as client:
            batch = [read(client, headers={"X-Priority": "batch"}) for _ in range(150)]
            *batch, one, another = await asyncio.gather(*batch, read(client), read(client))
    assert {one.status_code, another.status_code} == {200}
    assert {200, 429, 503} >= {answer.status_code for answer in batch} > {200}


@NEEDS_NGINX
async def test_batch_gets_no_more_than_half_of_the_places(tmp_path):
    """Places are taken by requests that never end; the last half of them is for interactive requests."""
    few = {"batch 64": "batch 2", "all 128": "all 4"}
    held, release = [], asyncio.Event()

    async def hold(reader, writer):
        held.append(writer)
        await release.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async def ask(client, priority):
        return (await read(client, headers={"X-Priority": priority})).status_code

    async with listening(hold) as gateway:
        with running(Nginx(tmp_path / "nginx", (gateway.port,), replaced=few)) as nginx:
            async with client_of(nginx.port) as client, asyncio.TaskGroup() as tasks:
                taken = [tasks.create_task(ask(client, "batch")) for _ in range(2)]
                await until(lambda: len(held) == 2)
                assert await ask(client, "batch") == 503
                taken += [tasks.create_task(ask(client, "interactive")) for _ in range(2)]
                await until(lambda: len(held) == 4)
                assert await ask(client, "interactive") == 503
                release.set()
    assert [task.result() for task in taken] == [200] * 4


async def until(happened):
    for _ in range(1000):
        if happened():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never happened")


@NEEDS_NGINX
async def test_an_address_that_comes_too_often_is_refused_by_nginx(tmp_path, gateway_ports):
    slower = {"rate=50r/s": "rate=1r/s", "burst=100 nodelay": "burst=3 nodelay"}
    with running(Nginx(tmp_path / "nginx", gateway_ports, replaced=slower)) as nginx:
        async with client_of(nginx.port) as client:
            answers = [await client.get("/readyz") for _ in range(8)]
    refused = [answer for answer in answers if answer.status_code != 200]
    assert len(refused) >= 4
    assert {(answer.status_code, answer.json()["code"]) for answer in refused} == {(429, "rate_limited")}
    assert {answer.headers["retry-after"] for answer in refused} == {"1"}


@NEEDS_NGINX
async def test_when_one_gateway_is_gone_every_request_goes_to_the_other(tmp_path, gateway_ports):
    with running(Nginx(tmp_path / "nginx", (gateway_ports[0], Ports.free().http))) as nginx:
        async with client_of(nginx.port) as client:
            answers = await asyncio.gather(*(read(client) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}


# Gateways of a few lines


class Listener:
    """Something at an address that does to requests what a test wants.

    Attributes:
        port: where.
        requests: that came.
    """

    def __init__(self, port, act):
        self.port = port
        self.requests = 0
        self._act = act
        self._server = None

    async def start(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    def close(self):
        self._server.close()

    async def _serve(self, reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        self.requests += 1
        await self._act(reader, writer)
        writer.close()


@asynccontextmanager
async def listening(act=None):
    listener = Listener(Ports.free().http, act)
    await listener.start()
    yield listener
    listener.close()


@asynccontextmanager
async def client_beside(folder, first, second):
    """A client of an nginx in front of two listeners."""
    with running(Nginx(folder / "nginx", (first.port, second.port))) as nginx:
        async with client_of(nginx.port) as client:
            yield client


@NEEDS_NGINX
async def test_when_both_gateways_are_gone_it_says_so_and_when_to_come_back(tmp_path):
    async with listening() as first, listening() as second, client_beside(tmp_path, first, second) as client:
        first.close()
        second.close()
        answer = await read(client)
    assert (answer.status_code, answer.json()["code"]) == (503, "backend_unavailable")
    assert answer.headers["retry-after"] == "2"


@NEEDS_NGINX
async def test_a_request_that_was_sent_is_not_sent_again(tmp_path):
    async def die(reader, writer):
        await reader.read(10)

    async with listening(die) as first, listening(die) as second, client_beside(tmp_path, first, second) as client:
        answer = await read(client)
    assert (answer.status_code, answer.json()["code"]) == (503, "backend_unavailable")
    assert first.requests + second.requests == 1


@NEEDS_NGINX
async def test_a_body_is_passed_on_as_it_comes(tmp_path):
    seen = asyncio.Event()

    async def note(reader, writer):
        await reader.readexactly(3)
        seen.set()
        await reader.readexactly(2)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async with listening(note) as first, listening(note) as second:
        with running(Nginx(tmp_path / "nginx", (first.port, second.port))) as nginx:
            reader, writer = await asyncio.open_connection("127.0.0.1", nginx.port)
            writer.write(b"POST /v1/ocr HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc")
            await asyncio.wait_for(seen.wait(), 10)
            writer.write(b"de")
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
            writer.close()


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    files = folder / "fullchain.pem", folder / "privkey.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


@pytest.fixture(scope="module")
def tls_port(folder, gateway_ports, certificate):
    listen = (DEPLOYED / "listen-tls.conf").read_text().replace("server_name ocr;\n", "")
    listen = listen.replace("listen 8443", "listen {address}")
    for name, path in zip(("fullchain.pem", "privkey.pem"), certificate, strict=True):
        listen = listen.replace(f"/etc/nginx/tls/{name}", str(path))
    with running(Nginx(folder / "tls_nginx", gateway_ports, listen=listen)) as nginx:
        yield nginx.port


def shake_hands(port, version):
    """Connect with this version of TLS alone; the version agreed on."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain) as secure:
        return secure.version()


@NEEDS_NGINX
@NEEDS_OPENSSL
@pytest.mark.parametrize(
    ("version", "name"), [(ssl.TLSVersion.TLSv1_2, "TLSv1.2"), (ssl.TLSVersion.TLSv1_3, "TLSv1.3")]
)
def test_tls_is_spoken_from_1_2_on(tls_port, version, name):
    assert shake_hands(tls_port, version) == name


@NEEDS_NGINX
@NEEDS_OPENSSL
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated:DeprecationWarning")
def test_older_tls_is_refused(tls_port):
    with pytest.raises(ssl.SSLError, match=r"PROTOCOL_VERSION|protocol version"):
        shake_hands(tls_port, ssl.TLSVersion.TLSv1_1)
