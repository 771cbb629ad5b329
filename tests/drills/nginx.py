"""A real nginx in front of the gateways of a drill, configured as `deploy/nginx` has it but for addresses and paths."""

import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.drills.processes import is_success, wait_until
from triton_models.processes import die_with_parent
from triton_models.server import LOOPBACK, Ports

START_TIMEOUT_S = 10.0
DEPLOYED = Path(__file__).parents[2] / "deploy" / "nginx"
LOGS = "/var/log/nginx"
BODIES = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
SERVER = re.compile(r"(?m)^( *)server [0-9.:]+(.*;)$")


def nginx_is_here() -> bool:
    """Whether the command is on PATH."""
    return shutil.which("nginx") is not None


class Nginx:
    """One nginx; `start`, and in the end `stop`.

    Args:
        folder: for its files.
        ports: of the gateways.

    Attributes:
        url: where it answers.
    """

    def __init__(self, folder: Path, ports: Sequence[int]) -> None:
        address = f"{LOOPBACK}:{Ports.free().http}"
        self.url = f"http://{address}"
        self._config = configure(folder.resolve(), address, ports)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it without waiting for it; on the main thread (see `die_with_parent`)."""
        executable = shutil.which("nginx")
        assert executable is not None, "not installed"
        # One process, so that none is left when this one is killed.
        own = f"daemon off; master_process off; pid {self._config.parent}/nginx.pid;"
        command = [executable, "-p", str(self._config.parent), "-c", str(self._config), "-g", own]
        self._process = subprocess.Popen(die_with_parent(command), start_new_session=True)

    async def wait_ready(self) -> None:
        """Wait until it answers.

        Raises:
            DrillError: it was not there in time.
        """
        complaint = f"nginx does not answer (see {self._config.parent})"
        await wait_until(lambda: is_success(f"{self.url}/livez"), START_TIMEOUT_S, complaint)

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait()


def configure(folder: Path, address: str, ports: Sequence[int]) -> Path:
    """A copy of the deployed configuration that listens here, leads there and writes into the folder; its main file."""
    shutil.copytree(DEPLOYED, folder)
    main, gateways = folder / "nginx.conf", folder / "gateways.conf"
    (folder / "listen.conf").write_text(f"listen {address} default_server;\nserver_name ocr;\n")
    gateways.write_text(with_servers(gateways.read_text(), ports))
    paths = "".join(f"    {name}_temp_path {folder}/{name};\n" for name in BODIES)
    main.write_text(main.read_text().replace(LOGS, str(folder)).replace("http {\n", f"http {{\n{paths}", 1))
    return main


def with_servers(upstream: str, ports: Sequence[int]) -> str:
    """The upstream block with a server for each port, each with the options of the block's first one."""
    first, *others = SERVER.finditer(upstream)
    indent, options = first.groups()
    lines = "\n".join(f"{indent}server {LOOPBACK}:{port}{options}" for port in ports)
    end = others[-1].end() if others else first.end()
    return upstream[: first.start()] + lines + upstream[end:]
