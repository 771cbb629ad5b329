"""A model repository on disk: written beside its place and renamed into it, with a manifest of what it was made from.

Triton looks at folders only, so the files at the top do not disturb it. Models that share their ONNX file share it as a
hard link: a repository of one model per shape would hold the same 20 MB many times over.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from triton_models.errors import RepositoryError
from triton_models.wheels import sha256_of

MANIFEST = "manifest.json"

Inputs: TypeAlias = Mapping[str, object]
"""Everything that a repository is made from, as JSON holds it."""


def is_current(root: Path, inputs: Inputs) -> bool:
    """Whether a repository was made from these very inputs and its files are still as they were written."""
    try:
        manifest = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
        return bool(manifest["inputs"] == inputs and manifest["files"] == _hash_files(root, manifest["files"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False


@contextmanager
def replaced_repository(root: Path, inputs: Inputs) -> Iterator[Path]:
    """An empty folder that takes the place of `root`, old contents and all, if the block ends well.

    For a moment between two renames there is neither; a Triton that polls sees its models leave and come back.

    Raises:
        RepositoryError: `root` is a mount point, or holds something that was not written here.
    """
    _require_replaceable(root)
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root.parent, prefix=f".{root.name}-") as staging:
        # A folder within: that of tempfile is closed to other users, such as Triton's.
        new = Path(staging) / "new"
        new.mkdir()
        yield new
        _write_manifest(new, inputs)
        _swap(new, root, old=Path(staging) / "old")


def write_text(path: Path, text: str) -> None:
    """A text file, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_data(path: Path, data: bytes) -> None:
    """A file, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def link_file(source: Path, path: Path) -> None:
    """The same file under another name; a copy where the file system has no hard links."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, path)
    except OSError:
        shutil.copyfile(source, path)


def _require_replaceable(root: Path) -> None:
    if root.is_mount():
        raise RepositoryError(f"{root} is a mount point, which can't be replaced; build into a folder within it")
    if not root.exists() or (root / MANIFEST).is_file():
        return
    if not root.is_dir() or any(root.iterdir()):
        raise RepositoryError(f"{root} was not written by this program; delete it or build into another folder")


def _write_manifest(root: Path, inputs: Inputs) -> None:
    names = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*")) if path.is_file()]
    manifest = {"inputs": inputs, "files": _hash_files(root, names)}
    write_text(root / MANIFEST, json.dumps(manifest, indent=2) + "\n")


def _hash_files(root: Path, names: Iterable[str]) -> dict[str, str]:
    """The hash of each file by its name; a file with many links is read once."""
    hashes: dict[tuple[int, int], str] = {}
    files = {}
    for name in names:
        status = (root / name).stat()
        key = (status.st_dev, status.st_ino)
        if key not in hashes:
            hashes[key] = sha256_of(root / name)
        files[name] = hashes[key]
    return files


def _swap(new: Path, root: Path, *, old: Path) -> None:
    if root.exists():
        root.rename(old)
    try:
        new.rename(root)
    except OSError:
        if old.exists():
            old.rename(root)
        raise
