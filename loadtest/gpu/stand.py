"""The stand: Triton and any number of gateways on one machine, from what `packing` brought there.

    ROOT/triton/     the wheel nvidia-pytriton, unpacked
    ROOT/site/       ONNX Runtime for GPUs, and what the gateway needs and the machine lacks
    ROOT/models/     model repositories, built beforehand
    ROOT/pages/      see `pages`
    ROOT/env/        made here: a virtual environment in which Triton's stubs find packages
    ROOT/backends/   made here: Triton's Python backend, and the project's own upon it

The server is the one of `python -m gateway serve`, with GPU configurations. Nothing is installed or downloaded.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from triton_models.preconditions import Interpreter, choose_interpreter, dotted, find_interpreters, library_name
from triton_models.processes import die_with_parent, kill_group
from triton_models.runtime import BACKEND_SOURCE, TritonRuntime
from triton_models.server import Ports, TritonProcess, is_free

FIRST_PORT = 18_100
READY_TIMEOUT_S = 60.0
LOAD_TIMEOUT_S = 180.0
POLL_INTERVAL_S = 0.1


class StandError(Exception):
    """A gateway ended or did not become ready."""


@dataclass(frozen=True, slots=True)
class Stand:
    """A machine with everything on it.

    Attributes:
        root: the folder of all this.
        variant: of the models' configurations: "gpu", or "cpu" where there is none.
        logs: folder for what servers and gateways print.
    """

    root: Path
    variant: str
    logs: Path

    def runtime(self) -> TritonRuntime:
        """Triton, put together if that has not been done."""
        interpreter = choose_interpreter(find_interpreters([sys.executable]))
        if not (self.root / "backends" / "onnxruntime" / "model.py").exists():
            self._make_environment(interpreter)
            self._stage_backends(interpreter)
        return TritonRuntime(
            server=self.root / "triton/pytriton/tritonserver/bin/tritonserver",
            backends=self.root / "backends",
            bin_dir=self.root / "env/bin",
            library_dirs=(self.root / "lib", self.root / "triton/nvidia_pytriton.libs", *cuda_libraries()),
        )

    def _make_environment(self, interpreter: Interpreter) -> None:
        """By hand, because some systems can't make virtual environments; the stubs need no more than this."""
        packages = self.root / "env" / "lib" / f"python{dotted(interpreter.version)}" / "site-packages"
        packages.mkdir(parents=True)
        (self.root / "env" / "bin").mkdir()
        (self.root / "env" / "bin" / "python3").symlink_to(Path(interpreter.executable).resolve())
        (self.root / "env" / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix) / 'bin'}\n")
        folders = (self.root / "site", sysconfig.get_paths()["purelib"])
        (packages / "stand.pth").write_text("".join(f"{folder}\n" for folder in folders))

    def _stage_backends(self, interpreter: Interpreter) -> None:
        wheel = self.root / "triton/pytriton/tritonserver"
        python, own, links = self.root / "backends/python", self.root / "backends/onnxruntime", self.root / "lib"
        for folder in (python, own, links):
            folder.mkdir(parents=True)
        stub = wheel / "python_backend_stubs" / dotted(interpreter.version) / "triton_python_backend_stub"
        for file in (*filter(Path.is_file, (wheel / "backends/python").iterdir()), stub):
            shutil.copy2(file, python)
        for program in (python / stub.name, wheel / "bin/tritonserver"):
            program.chmod(0o755)
        if interpreter.libpython is not None:
            (links / library_name(interpreter.version)).symlink_to(interpreter.libpython)
        shutil.copy2(BACKEND_SOURCE, own)

    @contextmanager
    def triton(self, repository: str, *, explicit: bool = False) -> Iterator[TritonProcess]:
        """A server with this repository of ROOT/models, once all its models are warm.

        Args:
            repository: its name.
            explicit: whether models can be loaded later, on request.
        """
        server = self.server(repository, explicit=explicit)
        try:
            server.start()
            server.wait_ready(LOAD_TIMEOUT_S)
            yield server
        finally:
            server.stop(timeout_s=2.0)

    def server(self, repository: str, *, explicit: bool = False) -> TritonProcess:
        """The same server, not started."""
        return TritonProcess(
            self.runtime(),
            self.root / "models" / repository,
            log_file=self.logs / f"triton-{repository}.log",
            ports=Ports.free(),
            model_control="explicit" if explicit else "none",
            model_config_name=self.variant,
            extra_flags=(f"--model-load-thread-count={os.cpu_count()}", *(["--load-model=*"] if explicit else [])),
        )


@dataclass(frozen=True, slots=True)
class Gateways:
    """Gateways that are ready.

    Attributes:
        ports: where they listen, on the loopback interface.
        processes: their ids.
    """

    ports: tuple[int, ...]
    processes: tuple[int, ...]


@contextmanager
def gateways(count: int, triton_address: str, logs: Path, settings: Mapping[str, str]) -> Iterator[Gateways]:
    """So many gateways on one server, each with its share of the cores for threads.

    Raises:
        StandError: one of them ended, or was not ready in time.
    """
    threads = max(2, (os.cpu_count() or 1) // count)
    common = {"OCR_TRITON_ADDRESSES": triton_address, "OCR_CPU_THREADS": str(threads), "OCR_DRAIN_DELAY_S": "0"}
    with ExitStack() as stack:
        ports = free_ports(count)
        processes = [
            stack.enter_context(gateway({**common, "OCR_PORT": str(port), **settings}, logs / f"gateway-{port}.log"))
            for port in ports
        ]
        for port, process in zip(ports, processes, strict=True):
            wait_ready(port, process)
        yield Gateways(tuple(ports), tuple(process.pid for process in processes))


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, in ascending order from a fixed one."""
    candidates = (port for port in range(FIRST_PORT, FIRST_PORT + 1000) if is_free(port))
    return [next(candidates) for _ in range(count)]


@contextmanager
def gateway(environment: Mapping[str, str], log_file: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A gateway with these settings, which may not be ready yet."""
    command = [sys.executable, "-m", "gateway", "run"]
    with log_file.open("ab") as log:
        process = subprocess.Popen(
            die_with_parent(command),
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        kill_group(process.pid)
        process.wait()


def wait_ready(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a gateway reads its known picture.

    Raises:
        StandError: it ended, or was not ready in time.
    """
    give_up_at = time.monotonic() + READY_TIMEOUT_S
    while not is_ready(port):
        if process.poll() is not None:
            raise StandError(f"the gateway on port {port} ended with exit code {process.returncode}")
        if time.monotonic() > give_up_at:
            raise StandError(f"the gateway on port {port} was not ready after {READY_TIMEOUT_S:.0f} s")
        time.sleep(POLL_INTERVAL_S)


def is_ready(port: int) -> bool:
    """Whether the gateway says that it reads correctly."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5.0) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False


def cuda_libraries() -> tuple[Path, ...]:
    """Folders of the CUDA libraries that came as Python packages, none where there are none."""
    packages = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    return tuple(sorted(packages.glob("*/lib")))
