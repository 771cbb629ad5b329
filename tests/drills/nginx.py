"""A real nginx in front of the gateways of a drill."""

import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.drills.processes import is_success, wait_until
from triton_models.processes import die_with_parent
from triton_models.server import LOOPBACK, Ports

START_TIMEOUT_S = 10.0
CONFIG = """\
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log info;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
    fastcgi_temp_path {folder}/unused;
    uwsgi_temp_path {folder}/unused;
    scgi_temp_path {folder}/unused;
    client_max_body_size 21m;
    upstream gateways {{
{servers}
        keepalive 32;
    }}
    server {{
        listen {address};
        location = /nginx {{ return 200; }}
        location / {{
            proxy_pass http://gateways;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_connect_timeout 1s;
            proxy_read_timeout {read_timeout_s:g}s;
            proxy_next_upstream error timeout http_503 non_idempotent;
            proxy_next_upstream_tries 2;
        }}
    }}
}}
"""


def nginx_is_here() -> bool:
    """Whether the command is on PATH."""
    return shutil.which("nginx") is not None


class Nginx:
    """One nginx; `start`, and in the end `stop`.

    Args:
        folder: for its files.
        ports: of the gateways.
        read_timeout_s: how long a gateway may take for an answer.

    Attributes:
        url: where it answers.
    """

    def __init__(self, folder: Path, ports: Sequence[int], *, read_timeout_s: float) -> None:
        folder.mkdir(parents=True)
        address = f"{LOOPBACK}:{Ports.free().http}"
        self.url = f"http://{address}"
        self._config = folder / "nginx.conf"
        servers = "\n".join(f"        server {LOOPBACK}:{port} max_fails=3 fail_timeout=5s;" for port in ports)
        self._config.write_text(
            CONFIG.format(folder=folder.resolve(), servers=servers, address=address, read_timeout_s=read_timeout_s)
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it without waiting for it; on the main thread (see `die_with_parent`)."""
        executable = shutil.which("nginx")
        assert executable is not None, "not installed"
        command = [executable, "-p", str(self._config.parent), "-c", str(self._config.resolve())]
        self._process = subprocess.Popen(die_with_parent(command), start_new_session=True)

    async def wait_ready(self) -> None:
        """Wait until it answers.

        Raises:
            DrillError: it was not there in time.
        """
        complaint = f"nginx does not answer (see {self._config.parent})"
        await wait_until(lambda: is_success(f"{self.url}/nginx"), START_TIMEOUT_S, complaint)

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait()
