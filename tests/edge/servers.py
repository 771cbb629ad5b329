"""A real gateway on known models in a process of its own, and a real nginx in front of it."""

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx

from triton_models.processes import die_with_parent
from triton_models.server import Ports

EDGE = Path(__file__).parent
NGINX_FOLDER = EDGE.parents[1] / "deploy" / "nginx"
START_TIMEOUT_S = 30.0

QUICK = {
    "OCR_HEADER_TIMEOUT_S": "1",
    "OCR_BODY_TIMEOUT_S": "1",
    "OCR_KEEP_ALIVE_S": "2",
    "OCR_TIMEOUT_S": "5",
    "OCR_DRAIN_DELAY_S": "0",
}
"""Times that a test can wait for."""


def nginx_is_missing():
    """Why nginx can't be tested here, if it can't."""
    return "" if shutil.which("nginx") else "nginx is not on PATH (Debian: apt-get install nginx-light)"


@contextmanager
def gateway(folder, *, call_s=0.0, **settings):
    """The port of a gateway that is ready; its log goes to a file of the folder.

    Args:
        folder: for the log.
        call_s: what a call of the models takes.
        settings: OCR_* variables.
    """
    port = Ports.free().http
    own = {"OCR_PORT": str(port), "FAKE_CALL_S": str(call_s), **QUICK, **settings}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OCR_")} | own
    with running([sys.executable, str(EDGE / "fake_gateway.py")], log_of(folder, port), environment) as process:
        wait_until(lambda: is_ready(port), process)
        yield port


@contextmanager
def nginx(folder, gateways, *, replaced=(), listen=None):
    """The port of an nginx with the configuration in `deploy/nginx`, in front of gateways at these ports.

    Args:
        folder: for a copy of the configuration, and for its logs.
        gateways: two ports.
        replaced: pairs of text in nginx.conf and what stands there for the test.
        listen: lines for listen.conf, with `{port}` in them.
    """
    port = Ports.free().http
    home = prepare(folder, port, gateways, replaced, listen or "listen 127.0.0.1:{port} default_server;")
    command = [shutil.which("nginx"), "-p", str(home), "-c", str(home / "nginx.conf")]
    with running([*command, "-g", f"daemon off; pid {home}/nginx.pid;"], home / "stderr.log") as process:
        wait_until(lambda: is_open(port), process)
        yield port


@contextmanager
def running(command, log, environment=None):
    """A process that is ended, in an orderly way, at the end."""
    with (
        log.open("wb") as stderr,
        subprocess.Popen(die_with_parent(command), env=environment, stderr=stderr) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)


def log_of(folder, port):
    """Where the gateway on this port writes its log."""
    return Path(folder) / f"gateway-{port}.log"


def prepare(folder, port, gateways, replaced, listen):
    """Copy the configuration and fit it to the test; where it is."""
    home = Path(folder) / f"nginx-{port}"
    shutil.copytree(NGINX_FOLDER, home)
    edit(home / "nginx.conf", ("/var/log/nginx", str(home)), ("worker_processes auto", "worker_processes 1"), *replaced)
    paths = "".join(
        f"{kind}_temp_path {home}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    servers = zip(("127.0.0.1:8081", "127.0.0.1:8082"), (f"127.0.0.1:{port}" for port in gateways), strict=True)
    edit(home / "gateways.conf", *servers, ("upstream", f"{paths}upstream"))
    (home / "listen.conf").write_text(f"{listen.format(port=port)}\nserver_name ocr;\n")
    return home


def edit(path, *replaced):
    """Replace texts in a file, each of which must be there."""
    text = path.read_text()
    for old, new in replaced:
        assert old in text, f"{path.name} has no {old!r}"
        text = text.replace(old, new)
    path.write_text(text)


def is_ready(port):
    """Whether a gateway is there and reads its known picture."""
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).is_success
    except httpx.TransportError:
        return False


def is_open(port):
    """Whether somebody listens."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_until(happened, process):
    """Return when it has happened; RuntimeError if the process ends before, or it takes too long."""
    give_up_at = time.monotonic() + START_TIMEOUT_S
    while not happened():
        if process.poll() is not None or time.monotonic() > give_up_at:
            raise RuntimeError(f"{process.args[-1]} did not come up (exit code {process.poll()}); see its log")
        time.sleep(0.05)
