"""A tritonserver on the loopback interface, for a developer's machine and for tests.

A `TritonProcess` owns its process group: the server, and the stub processes that the server makes for its models. They
end together: by `stop`, by leaving the `with` block, or when the process that started them ends, in whatever way. Any
number of servers live side by side: each has its own ports and its own names in /dev/shm.
"""

import http.client
import os
import random
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from triton_models import shared_memory
from triton_models.preconditions import PreconditionError
from triton_models.processes import die_with_parent, group_members, interrupts_held_back, kill_group
from triton_models.runtime import TritonRuntime

LOOPBACK = "127.0.0.1"
POLL_INTERVAL_S = 0.05
# How long Triton waits for calls in flight before it exits; with a dead stub it always waits that long.
EXIT_TIMEOUT_S = 5
# Below the range that Linux takes for outgoing connections (32768 up), so that none of those gets in the way.
FREE_PORT_RANGE = range(15_000, 32_000)
# The gateway pings idle connections more often than gRPC servers put up with by default (every 5 minutes, 2 strikes).
KEEPALIVE_FLAGS = (
    "--grpc-http2-min-recv-ping-interval-without-data=250",
    "--grpc-http2-max-ping-strikes=0",
    "--grpc-keepalive-permit-without-calls=1",
)
# What the server prints about a broken configuration, a model that does not load, a port and a flag, in this order.
TELLING = re.compile(
    r"(?:Error parsing text-format|Poll failed|failed to load '.*' version|failed to start|unrecognized option).*"
)
TRACEBACK_MARK = r"\n\nAt:\n"  # as printed, on one line


class TritonStartError(Exception):
    """The server ended or was not ready in time; the message has Triton's own words for why."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Where a server listens, on the loopback interface.

    Attributes:
        http: HTTP API, health included.
        grpc: gRPC API.
        metrics: Prometheus metrics.
    """

    http: int = 8000
    grpc: int = 8001
    metrics: int = 8002

    @classmethod
    def free(cls) -> Self:
        """Three ports that nobody listens on at this moment."""
        ports: list[int] = []
        while len(ports) < 3:
            port = random.choice(FREE_PORT_RANGE)  # noqa: S311 - two test runs at once must not pick the same
            if port not in ports and is_free(port):
                ports.append(port)
        return cls(*ports)


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of the loopback interface."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that linger don't count
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def command_line(
    runtime: TritonRuntime,
    repository: Path,
    ports: Ports,
    *,
    shm_prefix: str,
    model_control: Literal["none", "explicit"] = "none",
    model_config_name: str | None = None,
    extra_flags: Sequence[str] = (),
) -> list[str]:
    """The server's command line; every path in it is absolute, as Python-based backends need it."""
    flags = [
        f"--model-repository={repository.resolve()}",
        f"--backend-directory={runtime.backends.resolve()}",
        f"--backend-config=python,shm-region-prefix-name={shm_prefix}",
        f"--model-control-mode={model_control}",
        "--disable-auto-complete-config",
        "--exit-on-error=true",
        f"--exit-timeout-secs={EXIT_TIMEOUT_S}",
        *(f"--{name}-address={LOOPBACK}" for name in asdict(ports)),
        *(f"--{name}-port={port}" for name, port in asdict(ports).items()),
        *KEEPALIVE_FLAGS,
    ]
    if model_config_name is not None:
        flags.append(f"--model-config-name={model_config_name}")
    return [str(runtime.server), *flags, *extra_flags]


class TritonProcess:
    """One server; `with TritonProcess(...) as server:` gives one that is ready and ends with the block.

    Args:
        runtime: the installed tritonserver.
        repository: the model repository.
        log_file: what the server prints is appended here; its folder is made if need be.
        ports: where it listens.
        model_control: "none" loads every model at start; "explicit" loads and unloads on request.
        model_config_name: variant of the models' configurations (`configs/NAME.pbtxt`).
        extra_flags: further flags of tritonserver.

    Attributes:
        shm_prefix: what the names of the latest start begin with in /dev/shm.
    """

    name = "triton"

    def __init__(
        self,
        runtime: TritonRuntime,
        repository: Path,
        *,
        log_file: Path,
        ports: Ports,
        model_control: Literal["none", "explicit"] = "none",
        model_config_name: str | None = None,
        extra_flags: Sequence[str] = (),
    ) -> None:
        self.ports = ports
        self.log_file = log_file
        self._runtime = runtime
        self._repository = repository
        self._model_control = model_control
        self._model_config_name = model_config_name
        self._extra_flags = tuple(extra_flags)
        self._process: subprocess.Popen[bytes] | None = None
        self.shm_prefix = ""
        self._log_start = 0

    @property
    def pid(self) -> int:
        """The server's process id, which is also that of its process group."""
        assert self._process is not None, "not started"
        return self._process.pid

    @property
    def grpc_address(self) -> str:
        """Where gRPC clients connect."""
        return f"{LOOPBACK}:{self.ports.grpc}"

    def exit_code(self) -> int | None:
        """Its exit code, or None while it runs."""
        return None if self._process is None else self._process.poll()

    def start(self) -> None:
        """Start the server without waiting for it; on the main thread (see die_with_parent).

        Raises:
            PreconditionError: a port is taken.
        """
        require_free(self.ports)
        shared_memory.remove_stale()
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        claim = shared_memory.claim()
        try:
            with self.log_file.open("ab") as log, interrupts_held_back():
                self._log_start = log.tell()
                self._process = self._spawn(claim, log.fileno())
        finally:
            os.close(claim.lock)
        self.shm_prefix = claim.prefix

    def wait_ready(self, timeout_s: float = 120.0, while_waiting: Callable[[float], None] = lambda _: None) -> None:
        """Wait until every model is loaded.

        Args:
            timeout_s: how long at most.
            while_waiting: called all the time with the seconds waited so far; may raise to end the wait.

        Raises:
            TritonStartError: the server ended, because a model can't be loaded for example; or time ran out.
        """
        began_at = time.monotonic()
        while not self.is_ready():
            code = self.exit_code()
            if code is not None:
                raise TritonStartError(f"Triton ended while it started (exit code {code}): {self._reason()}")
            elapsed_s = time.monotonic() - began_at
            if elapsed_s > timeout_s:
                raise TritonStartError(f"Triton was not ready after {timeout_s:g} s: {self._reason()}")
            while_waiting(elapsed_s)
            time.sleep(POLL_INTERVAL_S)

    def is_ready(self) -> bool:
        """Whether the server says so now; False while it can't be reached."""
        connection = http.client.HTTPConnection(LOOPBACK, self.ports.http, timeout=1.0)
        try:
            connection.request("GET", "/v2/health/ready")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def stop(self, timeout_s: float = EXIT_TIMEOUT_S + 3.0) -> None:
        """End the whole process group: politely, and after `timeout_s` by force. Does nothing if not running.

        Triton lets the calls in flight finish, then unloads the models. From there gRPC may take ten more seconds until
        it notices that its clients are gone; that is not waited for.
        """
        if self._process is None:
            return
        end = time.monotonic() + timeout_s
        self._process.send_signal(signal.SIGTERM)
        self._process.send_signal(signal.SIGCONT)  # a stopped process would not notice
        while self._has_models() and time.monotonic() < end:
            time.sleep(POLL_INTERVAL_S)
        kill_group(self.pid)
        self._process.wait()
        shared_memory.remove(self.shm_prefix)
        self._process = None

    def kill(self) -> None:
        """Kill all its processes without waiting, so that a `stop` under way ends at once. For signal handlers."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def __enter__(self) -> Self:
        try:
            self.start()
            self.wait_ready()
        except BaseException:
            self.stop(timeout_s=0.0)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _spawn(self, claim: shared_memory.Claim, log: int) -> subprocess.Popen[bytes]:
        command = command_line(
            self._runtime,
            self._repository,
            self.ports,
            shm_prefix=claim.prefix,
            model_control=self._model_control,
            model_config_name=self._model_config_name,
            extra_flags=self._extra_flags,
        )
        environment = self._runtime.environment(os.environ)
        bound = die_with_parent(command, library_path=environment["LD_LIBRARY_PATH"])
        return subprocess.Popen(  # noqa: S603 - our own command
            bound,
            env={**os.environ, "PATH": environment["PATH"]},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=[claim.lock],
        )

    def _has_models(self) -> bool:
        return self.exit_code() is None and len(group_members(self.pid)) > 1

    def _reason(self) -> str:
        with self.log_file.open("rb") as log:
            log.seek(self._log_start)
            return f"{failure_reason(log.read().decode(errors='replace'))} (log: {self.log_file})"


def require_free(ports: Ports) -> None:
    """Check that a server could listen.

    Raises:
        PreconditionError: a port is taken.
    """
    for name, port in asdict(ports).items():
        if not is_free(port):
            raise PreconditionError(
                f"port {port} on {LOOPBACK} is taken and Triton needs it for {name}: "
                "end the program that listens there or choose another port"
            )


def failure_reason(log: str) -> str:
    """Why the server did not start: every telling line that it printed, once; else its last line."""
    telling = [_without_traceback(match) for match in TELLING.findall(log)]
    if telling:
        return "; ".join(dict.fromkeys(telling))
    lines = [line for line in log.splitlines() if line.strip() and not line.startswith(("+", "|"))]
    return lines[-1] if lines else "it printed nothing"


def _without_traceback(line: str) -> str:
    return line.partition(TRACEBACK_MARK)[0].rstrip('"')
