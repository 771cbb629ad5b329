"""The installation, with a wheel of a few bytes in the place of nvidia-pytriton's; no network is needed."""

import hashlib
import json
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from triton_models.preconditions import candidate_executables, choose_interpreter, find_interpreters
from triton_models.runtime import LOCK_FILE, PreconditionError, TritonRuntime, install_runtime

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Triton runs on Linux only")

SERVER = "pytriton/tritonserver/bin/tritonserver"
BACKEND = "pytriton/tritonserver/backends/python"
FILES = {
    SERVER: "the server",
    f"{BACKEND}/libtriton_python.so": "the backend",
    f"{BACKEND}/triton_python_backend_utils.py": "# its module",
    "nvidia_pytriton.libs/libtritonserver.so": "a library",
    "fake-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: fake\nVersion: 1.0\n",
    "fake-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
} | {
    f"pytriton/tritonserver/python_backend_stubs/{version}/triton_python_backend_stub": f"stub {version}"
    for version in ("3.11", "3.12", "3.13")
}


class Installation:
    """A folder to install into, with the files that an installation reads."""

    def __init__(self, sources: Path, root: Path) -> None:
        self.root = root
        self.lock = sources / "lock.txt"
        self.backend = sources / "model.py"
        self.staged_backend = root / "backends" / "onnxruntime" / "model.py"
        self.said: list[str] = []

    def install(self, python: str | None = None) -> TritonRuntime:
        return install_runtime(
            self.root, self.said.append, python=python, lock_file=self.lock, backend_source=self.backend
        )


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, the lock file that names it, and a backend."""
    folder = tmp_path_factory.mktemp("sources")
    wheel = folder / "fake-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in FILES.items():
            archive.writestr(name, text)
        archive.writestr("fake-1.0.dist-info/RECORD", "".join(f"{name},,\n" for name in FILES))
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (folder / "lock.txt").write_text(f"fake @ {wheel.as_uri()} --hash=sha256:{digest}\n")
    (folder / "model.py").write_text("# first\n")
    return folder


@pytest.fixture(scope="module")
def made(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation to copy, because making one takes seconds."""
    installation = Installation(sources, tmp_path_factory.mktemp("made") / "triton")
    installation.install()
    return installation.root


@pytest.fixture
def fresh(sources: Path, tmp_path: Path) -> Installation:
    """Nothing installed yet."""
    shutil.copytree(sources, tmp_path / "sources")
    return Installation(tmp_path / "sources", tmp_path / "triton")


@pytest.fixture
def installed(fresh: Installation, made: Path) -> Installation:
    """Installed already."""
    shutil.copytree(made, fresh.root, symlinks=True)
    return fresh


def test_an_installation_holds_server_stub_library_and_backend(installed: Installation) -> None:
    runtime = installed.install()
    interpreter = choose_interpreter(find_interpreters(candidate_executables()))
    version = ".".join(map(str, interpreter.version))
    assert runtime.server.read_text() == "the server"
    assert (runtime.bin_dir / "python3").exists()
    assert (runtime.library_dirs[1] / "libtritonserver.so").read_text() == "a library"
    linked = [path.resolve() for path in runtime.library_dirs[0].iterdir()]
    assert linked == ([interpreter.libpython] if interpreter.libpython else [])
    assert {path.name: path.read_text() for path in (runtime.backends / "python").iterdir()} == {
        "libtriton_python.so": "the backend",
        "triton_python_backend_utils.py": "# its module",
        "triton_python_backend_stub": f"stub {version}",
    }
    assert installed.staged_backend.read_text() == "# first\n"


def test_an_installation_says_what_it_does(fresh: Installation) -> None:
    fresh.install()
    assert fresh.said[0].startswith("installing Triton for Python 3.")


def test_the_second_time_installs_nothing_and_says_nothing(installed: Installation) -> None:
    before = (installed.root / "installed.json").stat().st_mtime_ns
    assert installed.install() == installed.install()
    assert installed.said == []
    assert (installed.root / "installed.json").stat().st_mtime_ns == before


def test_a_changed_lock_file_installs_anew(installed: Installation) -> None:
    installed.lock.write_text(installed.lock.read_text() + "# changed\n")
    assert installed.install().server.exists()
    assert installed.said != []


@pytest.mark.parametrize("lost", ["installed.json", "env/bin"])
def test_an_incomplete_installation_is_made_anew(installed: Installation, lost: str) -> None:
    (installed.root / lost).rename(installed.root / "lost")
    assert installed.install().server.exists()
    assert installed.said != []


def test_a_stamp_that_was_cut_short_is_no_stamp(installed: Installation) -> None:
    (installed.root / "installed.json").write_text('{"lock"')
    assert installed.install().server.exists()
    assert installed.said != []


def test_a_changed_backend_is_staged_without_installing(installed: Installation) -> None:
    installed.backend.write_text("# second\n")
    installed.install()
    assert installed.staged_backend.read_text() == "# second\n"
    assert installed.said == []


def test_an_equal_backend_is_left_alone(installed: Installation) -> None:
    before = installed.staged_backend.stat().st_ino
    installed.install()
    assert installed.staged_backend.stat().st_ino == before


def test_asking_for_another_interpreter_installs_anew(installed: Installation, tmp_path: Path) -> None:
    chosen = json.loads((installed.root / "installed.json").read_text())["python"]
    installed.install(python=chosen)
    assert installed.said == []
    (tmp_path / "another-python").symlink_to(chosen)
    installed.install(python=str(tmp_path / "another-python"))
    assert installed.said != []


def test_an_interpreter_that_does_not_answer_is_refused(fresh: Installation) -> None:
    with pytest.raises(PreconditionError, match=r"one of Python 3.11, 3.12, 3.13"):
        fresh.install(python="/nowhere/python3")


def test_a_failed_download_is_one_sentence_with_pips_reason(fresh: Installation) -> None:
    fresh.lock.write_text(fresh.lock.read_text().replace("fake-1.0", "absent-1.0"))
    with pytest.raises(PreconditionError, match=r"could not install Triton's packages \(ERROR: ") as caught:
        fresh.install()
    assert "\n" not in str(caught.value)
    assert not (fresh.root / "installed.json").exists()


def test_a_folder_that_is_given_relatively_is_made_absolute(
    installed: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(installed.root.parent)
    installed.root = Path(installed.root.name)
    assert installed.install().backends.is_absolute()


@pytest.mark.parametrize(
    ("base", "path", "library_path"),
    [
        ({}, "/env/bin", "/lib:/libs"),
        ({"PATH": "/usr/bin", "LD_LIBRARY_PATH": "/cuda"}, "/env/bin:/usr/bin", "/lib:/libs:/cuda"),
        ({"PATH": "", "LD_LIBRARY_PATH": ""}, "/env/bin", "/lib:/libs"),
    ],
)
def test_search_paths_are_extended_in_front(base: dict[str, str], path: str, library_path: str) -> None:
    runtime = TritonRuntime(Path("/server"), Path("/backends"), Path("/env/bin"), (Path("/lib"), Path("/libs")))
    assert runtime.environment({"HOME": "/root", **base}) == {
        "HOME": "/root",
        "PATH": path,
        "LD_LIBRARY_PATH": library_path,
    }


def test_both_backends_run_the_same_onnxruntime() -> None:
    """Else the text could differ between them."""
    pins = [
        next(line.split()[0] for line in lock.read_text().splitlines() if line.startswith("onnxruntime=="))
        for lock in (LOCK_FILE, LOCK_FILE.with_name("gateway.txt"))
    ]
    assert pins[0] == pins[1]
