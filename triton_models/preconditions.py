"""What a machine must have to run Triton: x86-64 Linux, a glibc that is new enough, and a Python that can be embedded.

Whatever is missing is reported in one sentence that says the way out.
"""

import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# The wheel has stubs for older Pythons too, onnxruntime has not. In the order of preference.
SUPPORTED_PYTHONS = ((3, 12), (3, 11), (3, 13))
# The stub for 3.13 was linked with a libpython that the wheel carries.
PYTHON_WITH_BUNDLED_LIBRARY = (3, 13)
# The tag of the wheel: manylinux_2_35_x86_64.
OLDEST_GLIBC = (2, 35)
WAY_OUT = "or start with `--backend embedded`, which needs no Triton"


class PreconditionError(Exception):
    """This machine can't run Triton as it is; the message is a sentence that says the way out."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python on this machine.

    Attributes:
        executable: its path.
        version: major and minor.
        libpython: its shared library; None if it has none, as in many builds that are not a distribution's.
    """

    executable: str
    version: tuple[int, int]
    libpython: Path | None

    @property
    def embeddable(self) -> bool:
        """Whether a stub of this version finds the library that it is linked with."""
        return self.libpython is not None or self.version == PYTHON_WITH_BUNDLED_LIBRARY


def check_platform(system: str, machine: str, glibc: tuple[int, int] | None) -> None:
    """Refuse a platform that the wheel was not built for.

    Args:
        system: as sys.platform has it.
        machine: as platform.machine() has it.
        glibc: major and minor; None for another C library.

    Raises:
        PreconditionError: it was not.
    """
    if system != "linux" or machine != "x86_64":
        raise PreconditionError(
            f"Triton's PyPI build runs on x86-64 Linux only and this is {system} on {machine}: "
            f"use such a machine, {WAY_OUT}"
        )
    if glibc is None or glibc < OLDEST_GLIBC:
        found = "another C library" if glibc is None else f"glibc {dotted(glibc)}"
        raise PreconditionError(
            f"Triton's PyPI build needs glibc {dotted(OLDEST_GLIBC)} and this machine has {found}: "
            f"use a newer system, such as Debian 12 or Ubuntu 22.04, {WAY_OUT}"
        )


def find_interpreters(executables: Iterable[str]) -> Iterator[Interpreter]:
    """Ask each executable what it is; those that do not answer or are no plain CPython are passed over."""
    for executable in executables:
        answer = _ask(executable)
        if answer is not None:
            major, minor, *folders = answer
            version = (int(major), int(minor))
            yield Interpreter(executable, version, _find_libpython(version, folders))


def choose_interpreter(found: Iterable[Interpreter]) -> Interpreter:
    """The first interpreter that a stub can embed.

    Raises:
        PreconditionError: none can; says what the most promising one lacks.
    """
    seen: list[Interpreter] = []
    for interpreter in found:
        seen.append(interpreter)
        if interpreter.version in SUPPORTED_PYTHONS and interpreter.embeddable:
            return interpreter
    near = next((interpreter for interpreter in seen if interpreter.version in SUPPORTED_PYTHONS), None)
    if near is None:
        wanted = ", ".join(dotted(version) for version in sorted(SUPPORTED_PYTHONS))
        others = ", ".join(dotted(interpreter.version) for interpreter in seen) or "none"
        raise PreconditionError(
            f"Triton runs models in one of Python {wanted} and this machine has {others}: "
            f"install one, with its shared library, {WAY_OUT}"
        )
    name = f"python{dotted(near.version)}"
    raise PreconditionError(
        f"Triton embeds Python and {near.executable} came without the shared library {library_name(near.version)}: "
        f"install a {name} that has it (Debian and Ubuntu: apt-get install {name} lib{name}), {WAY_OUT}"
    )


# Prints major, minor and the folders where the shared library may be; fails where the ABI is not the stub's.
_QUESTION = """
import os, sys, sysconfig
if sys.implementation.name != "cpython" or sys.abiflags: sys.exit(1)
lib, arch = sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("MULTIARCH") or ""
own = os.path.join(sys.base_prefix, "lib")
print(sys.version_info[0], sys.version_info[1], lib, own, os.path.join(lib, arch), os.path.join(own, arch), sep="\\n")
"""


def _ask(executable: str) -> list[str] | None:
    try:
        done = subprocess.run(  # noqa: S603 - what PATH and the user name
            [executable, "-I", "-c", _QUESTION], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.splitlines()


def candidate_executables() -> Iterator[str]:
    """The running interpreter, then all that PATH has: a version manager's first hit is often an empty shim."""
    if sys.executable:
        yield sys.executable
    for version in SUPPORTED_PYTHONS:
        for folder in os.get_exec_path():
            candidate = Path(folder) / f"python{dotted(version)}"
            if candidate.is_file():
                yield str(candidate)


def _find_libpython(version: tuple[int, int], folders: Iterable[str]) -> Path | None:
    places = (Path(folder) / library_name(version) for folder in folders)
    return next((place.resolve() for place in places if place.is_file()), None)


def glibc_version() -> tuple[int, int] | None:
    """Major and minor of this machine's glibc; None if it has another C library."""
    library, version = platform.libc_ver()
    if library != "glibc":
        return None
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def library_name(version: tuple[int, int]) -> str:
    """The file that a stub of this version is linked with."""
    return f"libpython{dotted(version)}.so.1.0"


def dotted(version: tuple[int, int]) -> str:
    """As text: "3.12"."""
    return ".".join(map(str, version))
