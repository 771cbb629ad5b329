"""Installs Triton's own environment: the tritonserver of a PyPI wheel, and the backend that serves ONNX models in it.

The environment is apart from the gateway's because the server is tied to one Python: its Python backend runs models in
a stub process that embeds the interpreter whose minor version it was built for, and finds packages through the first
`python3` on PATH. So a suitable interpreter is chosen, a virtual environment is made from it, and beside that lie a
backend directory and a link to the shared library of that interpreter:

    ROOT/env/                   virtual environment with the lock file's packages
    ROOT/lib/                   link to libpython3.X.so.1.0
    ROOT/backends/python/       Triton's Python backend, with the stub for this Python
    ROOT/backends/onnxruntime/  this project's backend (model.py), and as openvino_python/ once more
    ROOT/installed.json         written last: what the above was made from

For development and tests on the loopback interface only: this server is older than the security fixes of 2025.
"""

import hashlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from triton_models.locks import locked
from triton_models.preconditions import (
    WAY_OUT,
    Interpreter,
    PreconditionError,
    candidate_executables,
    check_platform,
    choose_interpreter,
    dotted,
    find_interpreters,
    glibc_version,
    library_name,
)

__all__ = ["PreconditionError", "TritonRuntime", "install_runtime"]

LOCK_FILE = Path(__file__).parent.parent / "requirements" / "triton.txt"
BACKEND_SOURCE = Path(__file__).parent / "backends" / "onnxruntime" / "model.py"
BACKENDS = ("onnxruntime", "openvino_python")
"""The names that this backend goes by; it looks at its name and takes the library."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TritonRuntime:
    """An installed tritonserver.

    Attributes:
        server: the executable.
        backends: absolute path of the backend directory.
        bin_dir: folder whose `python3` leads the stubs to their packages.
        library_dirs: folders of the shared libraries of server and stubs.
    """

    server: Path
    backends: Path
    bin_dir: Path
    library_dirs: tuple[Path, ...]

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """The environment variables for the server: `base` with both search paths extended in front."""
        return {
            **base,
            "PATH": _search_path(self.bin_dir, base.get("PATH")),
            "LD_LIBRARY_PATH": _search_path(*self.library_dirs, base.get("LD_LIBRARY_PATH")),
        }


def install_runtime(
    root: Path,
    progress: Progress,
    *,
    python: str | None = None,
    lock_file: Path = LOCK_FILE,
    backend_source: Path = BACKEND_SOURCE,
) -> TritonRuntime:
    """Install Triton under `root` unless that has been done; quick and offline then.

    Args:
        root: folder that this function owns; made if need be.
        progress: told in a few words what is going on.
        python: the interpreter to embed; by default the running one if it is fit, else one from PATH.
        lock_file: requirements with hashes.
        backend_source: the `model.py` that serves ONNX models; staged again whenever it changes.

    Raises:
        PreconditionError: the machine lacks something.
    """
    check_platform(sys.platform, platform.machine(), glibc_version())
    root = root.resolve()
    root.mkdir(parents=True, exist_ok=True)
    with locked(root / "install.lock"):
        runtime = _installed(root, lock_file, python)
        if runtime is None:
            interpreter = choose_interpreter(find_interpreters([python] if python else candidate_executables()))
            runtime = _install(root, interpreter, lock_file, progress)
        for name in BACKENDS:
            _stage_file(backend_source, runtime.backends / name / "model.py")
    return runtime


def _installed(root: Path, lock_file: Path, python: str | None) -> TritonRuntime | None:
    """What `root` holds, if it was made from this lock file (and this Python, if one is asked for) and is whole."""
    try:
        stamp = json.loads((root / "installed.json").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    runtime = _runtime(root, (stamp["version"][0], stamp["version"][1]))
    whole = runtime.server.exists() and (runtime.bin_dir / "python3").exists()
    same = stamp["lock"] == _digest(lock_file) and python in {None, stamp["python"]}
    return runtime if whole and same else None


def _install(root: Path, interpreter: Interpreter, lock_file: Path, progress: Progress) -> TritonRuntime:
    runtime = _runtime(root, interpreter.version)
    progress(f"installing Triton for Python {dotted(interpreter.version)} into {root} (90 MB, once)")
    for stale in ("env", "lib", "backends"):
        shutil.rmtree(root / stale, ignore_errors=True)
    _create_environment(root / "env", interpreter)
    _install_packages(root / "env", lock_file, progress)
    _stage_backends(runtime, interpreter)
    stamp = {"lock": _digest(lock_file), "python": interpreter.executable, "version": interpreter.version}
    (root / "installed.json").write_text(json.dumps(stamp))
    return runtime


def _create_environment(folder: Path, interpreter: Interpreter) -> None:
    # Without pip: Debian's Python can't bring it along, and the running interpreter's pip can install from outside.
    _run([interpreter.executable, "-m", "venv", "--without-pip", str(folder)], "make a virtual environment")


def _install_packages(folder: Path, lock_file: Path, progress: Progress) -> None:
    if importlib.util.find_spec("pip") is None:
        raise PreconditionError(f"Triton is installed with pip, which {sys.executable} lacks: run it with -m ensurepip")
    command = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python3"), "install"]
    options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--progress-bar=off", "--no-input"]
    quiet = ["--disable-pip-version-check", "--no-warn-script-location"]
    _run([*command, *options, *quiet, "--requirement", str(lock_file)], "install Triton's packages", progress)


def _run(command: list[str], purpose: str, progress: Progress | None = None) -> None:
    """Run to the end; report what is downloaded as it happens.

    Raises:
        PreconditionError: it failed; carries the line that says why.
    """
    lines: list[str] = []
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=subprocess.STDOUT, text=True) as process:  # noqa: S603 - our own
        assert process.stdout is not None
        for line in map(str.strip, process.stdout):
            lines.append(line)
            if progress is not None and line.startswith("Downloading "):
                progress(f"d{line[1:]}")
    if process.returncode != 0:
        reason = next(
            (line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else "no reason"
        )
        raise PreconditionError(f"could not {purpose} ({reason}): mend that and run again, {WAY_OUT}")


def _stage_backends(runtime: TritonRuntime, interpreter: Interpreter) -> None:
    wheel = runtime.server.parent.parent
    stub = wheel / "python_backend_stubs" / dotted(interpreter.version) / "triton_python_backend_stub"
    target = runtime.backends / "python"
    target.mkdir(parents=True)
    for source in (
        wheel / "backends/python/libtriton_python.so",
        wheel / "backends/python/triton_python_backend_utils.py",
        stub,
    ):
        shutil.copy2(source, target)
    links = runtime.library_dirs[0]
    links.mkdir()
    if interpreter.libpython is not None:
        (links / library_name(interpreter.version)).symlink_to(interpreter.libpython)


def _stage_file(source: Path, target: Path) -> None:
    """Copy unless equal; in one step, because a server in another process may be reading it."""
    if target.exists() and target.read_bytes() == source.read_bytes():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".partial")
    shutil.copyfile(source, partial)
    partial.replace(target)


def _runtime(root: Path, version: tuple[int, int]) -> TritonRuntime:
    packages = root / "env" / "lib" / f"python{dotted(version)}" / "site-packages"
    return TritonRuntime(
        server=packages / "pytriton" / "tritonserver" / "bin" / "tritonserver",
        backends=root / "backends",
        bin_dir=root / "env" / "bin",
        library_dirs=(root / "lib", packages / "nvidia_pytriton.libs"),
    )


def _search_path(*entries: Path | str | None) -> str:
    return os.pathsep.join(str(entry) for entry in entries if entry)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
