"""The local pair: a Triton server and a gateway as two children of one command, for a developer's machine.

Triton is restarted when it breaks down (`gateway.supervision`); when the gateway ends, everything ends. Everything the
pair needs is made on the first run and kept in one folder (`.local`): Triton's own environment, the wheels that carry
the models, the model repository, the logs. The second run starts at once, offline.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import NoReturn, Protocol, Self

import httpx

from gateway.inference.checkup import check_up
from gateway.supervision import Progress, Say, Supervisor, start
from triton_models.build import build_repository
from triton_models.catalog import find_model_set
from triton_models.graph import GraphKind
from triton_models.layouts import DEFAULT_SHAPES, Layout
from triton_models.plans import Recipe
from triton_models.preconditions import PreconditionError
from triton_models.processes import INTERRUPTS, die_with_parent, interrupts_held_back
from triton_models.runtime import install_runtime
from triton_models.server import Ports, TritonProcess

# The known picture takes a second, and minutes on a machine that is busy with other things.
READY_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 10.0
POLL_INTERVAL_S = 0.2


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

    def kill(self) -> None:
        """End it by force, without waiting."""


def serve(options: PairOptions, say: Say) -> None:
    """Bring the pair up, say where it is, and keep it up until interrupted.

    Raises:
        PreconditionError: the machine lacks something; the message says what to do.
        BuildError: the models can't be had or are not what they should be.
        TritonStartError: Triton does not come up; the message has its words.
        ChildDiedError: the gateway ended by itself, or Triton before everything was ready.
        GivenUpError: Triton had to be restarted too often.
        KeyboardInterrupt: SIGINT or SIGTERM; both children have been stopped by then.
    """
    find_model_set(options.model_set)  # a misspelt name is refused before anything is fetched
    require_free_port(options.host, options.port)
    pair = Pair(options, say)
    with interruptible(pair.kill), pair:
        triton = pair.start_triton() if options.backend == "triton" else None
        gateway = pair.start_gateway(triton)
        say(greeting(options))
        watch(gateway, triton, say)


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


class Pair:
    """What `serve` has started; a context manager that stops the gateway first, and then Triton."""

    def __init__(self, options: PairOptions, say: Say) -> None:
        self._options = options
        self._say = say
        self._children: list[Child] = []
        self._stack = ExitStack()

    def start_triton(self) -> TritonProcess:
        """Make what is missing and start Triton; errors as of `serve`."""
        options = self._options
        runtime = install_runtime(options.home / "triton", self._say)
        repository = build_models(options)
        log = options.home / "logs" / "triton.log"
        self._say(f"starting Triton with {options.model_set} (log: {log})")
        triton = TritonProcess(runtime, repository, log_file=log, ports=Ports.free())
        self._children.append(triton)
        self._stack.callback(triton.stop)
        start(triton, lambda: None, self._say)
        return triton

    def start_gateway(self, triton: TritonProcess | None) -> "GatewayProcess":
        """Start the gateway on Triton, or on models of its own; errors as of `serve`."""
        options = self._options
        environment = {"OCR_BACKEND": options.backend, "OCR_HOST": options.host, "OCR_PORT": str(options.port)}
        if triton is None:
            environment["OCR_MODEL_REPOSITORY"] = str(build_models(options).resolve())
        else:
            environment["OCR_TRITON_ADDRESSES"] = triton.grpc_address
        self._say("starting the gateway, which reads a known picture first")
        gateway = self._stack.enter_context(GatewayProcess(environment, options))
        self._children.append(gateway)
        gateway.wait_ready(READY_TIMEOUT_S, self._children, self._say)
        return gateway

    def kill(self) -> None:
        """End everything by force, so that the stopping that is under way is over at once."""
        for child in self._children:
            child.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def build_models(options: PairOptions) -> Path:
    """The model repository, built if need be.

    Without warming up: on two cores Triton is ready after 1.3 s instead of 7, and so is a restart; on a CPU the first
    calls are hardly slower.
    """
    model_set = find_model_set(options.model_set)
    repository = options.home / "models" / model_set.name
    recipe = Recipe(Layout.ANY, GraphKind.TOP1, DEFAULT_SHAPES[Layout.ANY], warm_up=False)
    build_repository(model_set, repository, recipe, wheels=options.home / "wheels")
    return repository


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
        with interrupts_held_back():
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                die_with_parent(command) if sys.platform == "linux" else command,
                env=self._environment,
                start_new_session=True,
            )
        return self

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None, "not started"
        return self._process.pid

    def exit_code(self) -> int | None:
        """Its exit code, or None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def kill(self) -> None:
        """End it by force, without waiting."""
        assert self._process is not None
        self._process.kill()

    def wait_ready(self, timeout_s: float, children: Sequence[Child] = (), say: Say = lambda _: None) -> None:
        """Wait until it reads the known picture correctly.

        Args:
            timeout_s: how long at most.
            children: without which there is no point in waiting.
            say: told now and then why it is not ready.

        Raises:
            ChildDiedError: it, or one of the others, ended.
            PreconditionError: it was not ready in time; carries its reason.
        """
        progress = Progress("the gateway is not ready yet", say)
        began_at = time.monotonic()
        while reason := self._why_not_ready():
            require_alive([self, *children])
            elapsed_s = time.monotonic() - began_at
            if elapsed_s > timeout_s:
                raise PreconditionError(f"the gateway was not ready after {timeout_s:.0f} s: {reason}")
            progress(elapsed_s, reason)
            time.sleep(POLL_INTERVAL_S)

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

    def _why_not_ready(self) -> str:
        """In words; empty when it is ready."""
        try:
            answer = httpx.get(f"{self._url}/readyz", timeout=5.0, trust_env=False)  # a proxy is for elsewhere
        except httpx.TransportError as error:
            return f"{type(error).__name__}: {error}"
        return "" if answer.is_success else answer.json().get("detail", answer.text)


def watch(gateway: Child, triton: TritonProcess | None, say: Say) -> NoReturn:
    """Restart Triton whenever it breaks down, until the gateway dies or a signal interrupts."""

    def require_gateway() -> None:
        require_alive([gateway])

    if triton is not None:
        asyncio.run(Supervisor(triton, partial(check_up, triton.grpc_address), require_gateway, say).run())
    while True:
        require_gateway()
        time.sleep(POLL_INTERVAL_S)


def require_alive(children: Sequence[Child]) -> None:
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
def interruptible(hurry: Callable[[], None]) -> Iterator[None]:
    """Let SIGTERM unwind the stack as Ctrl-C does; and SIGINT, which a shell's background jobs are born deaf to.

    A second signal must not break off the unwinding, or something would be left behind: it calls `hurry`.
    """

    def interrupt(_: int, __: FrameType | None) -> NoReturn:
        for number in INTERRUPTS:
            signal.signal(number, lambda *_: hurry())
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
