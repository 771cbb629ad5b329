"""A real nginx, configured as `deploy/nginx` has it but for addresses, paths and what a test asks for."""

import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from triton_models.processes import die_with_parent
from triton_models.server import LOOPBACK, Ports

START_TIMEOUT_S = 10.0
POLL_INTERVAL_S = 0.02
DEPLOYED = Path(__file__).parents[1] / "deploy" / "nginx"
LOGS = "/var/log/nginx"
BODIES = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
SERVER = re.compile(r"(?m)^( *)server [0-9.:]+(.*;)$")
LISTEN = "listen {address} default_server;"
ERRORS = "stderr.log"


def nginx_is_missing() -> str:
    """Why nginx can't be started here; empty if it can."""
    return "" if shutil.which("nginx") else "nginx is not on PATH (Debian: apt-get install nginx-light)"


class Nginx:
    """One nginx in front of gateways; `start`, and in the end `stop`.

    Args:
        folder: for its files; it must not be there yet.
        ports: of the gateways.
        replaced: texts of nginx.conf, and what stands there for the test.
        listen: for listen.conf, with `{address}` where it listens.

    Attributes:
        folder: see there.
        port: where it listens.
    """

    def __init__(
        self, folder: Path, ports: Sequence[int], *, replaced: Mapping[str, str] | None = None, listen: str = LISTEN
    ) -> None:
        self.folder = folder.resolve()
        self.port = Ports.free().http
        configure(self.folder, ports, replaced or {}, listen.format(address=f"{LOOPBACK}:{self.port}"))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{LOOPBACK}:{self.port}"

    def start(self) -> None:
        """Start it and wait until it listens; on the main thread (see `die_with_parent`).

        Raises:
            RuntimeError: it does not.
        """
        # One process, so that none is left when this one is killed.
        command = self._command("daemon off; master_process off;")
        with (self.folder / ERRORS).open("wb") as errors:
            self._process = subprocess.Popen(die_with_parent(command), stderr=errors, start_new_session=True)
        give_up_at = time.monotonic() + START_TIMEOUT_S
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > give_up_at:
                raise RuntimeError(f"nginx does not listen: {(self.folder / ERRORS).read_text()}")
            time.sleep(POLL_INTERVAL_S)

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait()

    def check(self) -> str:
        """What `nginx -t` says of the configuration.

        Raises:
            CalledProcessError: it is not valid.
        """
        command = [*self._command(), "-t"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stderr

    def _command(self, own: str = "") -> list[str]:
        executable = shutil.which("nginx")
        assert executable is not None, nginx_is_missing()
        directives = f"{own} pid {self.folder}/nginx.pid;"
        return [executable, "-p", str(self.folder), "-c", str(self.folder / "nginx.conf"), "-g", directives]

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((LOOPBACK, self.port)) == 0


@contextmanager
def running(nginx: Nginx) -> Iterator[Nginx]:
    """It runs until the end of the block."""
    nginx.start()
    try:
        yield nginx
    finally:
        nginx.stop()


def configure(folder: Path, ports: Sequence[int], replaced: Mapping[str, str], listen: str) -> None:
    """A copy of the deployed configuration that listens here, leads there and writes into the folder."""
    shutil.copytree(DEPLOYED, folder)
    paths = "".join(f"    {name}_temp_path {folder}/{name};\n" for name in BODIES)
    edit(folder / "nginx.conf", {**replaced, LOGS: str(folder), "http {\n": f"http {{\n{paths}"})
    (folder / "listen.conf").write_text(f"{listen}\nserver_name ocr;\n")
    gateways = folder / "gateways.conf"
    gateways.write_text(with_servers(gateways.read_text(), ports))


def edit(file: Path, replaced: Mapping[str, str]) -> None:
    """Replace texts in a file, each of which must be there: else the configuration has changed under the test."""
    text = file.read_text()
    for old, new in replaced.items():
        assert old in text, f"{file.name} has no {old!r} any more"
        text = text.replace(old, new)
    file.write_text(text)


def with_servers(upstream: str, ports: Sequence[int]) -> str:
    """The upstream block with a server for each port, each with the options of the block's first one."""
    first, *others = SERVER.finditer(upstream)
    indent, options = first.groups()
    lines = "\n".join(f"{indent}server {LOOPBACK}:{port}{options}" for port in ports)
    end = others[-1].end() if others else first.end()
    return upstream[: first.start()] + lines + upstream[end:]
