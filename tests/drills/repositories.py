"""Model repositories that a drill may spoil: one for each Triton, of the small model set, made of links."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from triton_models.build import build_repository
from triton_models.catalog import MODEL_SETS
from triton_models.graph import GraphKind
from triton_models.layouts import ANY_SHAPES, Layout
from triton_models.plans import Names, Recipe
from triton_models.runtime import BACKEND_SOURCE, TritonRuntime

MODEL_SET = "ppocrv6-tiny"
RECIPE = Recipe(Layout.ANY, GraphKind.TOP1, ANY_SHAPES, warm_up=False)
DETECTION, RECOGNITION = Names().detection, Names().recognition
FAULTY_BACKEND = Path(__file__).with_name("faulty_backend.py")


def build_models(home: Path) -> Path:
    """The repository that the others are copied from; made once, and kept."""
    models = home / "drills" / "models"
    build_repository(MODEL_SETS[MODEL_SET], models, RECIPE, wheels=home / "wheels")
    return models


def with_faulty_backend(runtime: TritonRuntime, folder: Path) -> TritonRuntime:
    """The same server with backends of its own, whose models can be made to go wrong."""
    (folder / "onnxruntime").mkdir(parents=True)
    shutil.copyfile(FAULTY_BACKEND, folder / "onnxruntime" / "model.py")
    shutil.copyfile(BACKEND_SOURCE, folder / "onnxruntime" / "real_model.py")
    shutil.copytree(runtime.backends / "python", folder / "python", copy_function=os.link)
    return replace(runtime, backends=folder.resolve())


class DrillRepository:
    """A model repository and the ways in which a drill spoils it.

    Attributes:
        root: its folder.
    """

    def __init__(self, source: Path, root: Path) -> None:
        self.root = root
        shutil.copytree(source, root, copy_function=_link_data)

    def spoil(self, model: str, **fault: object) -> None:
        """Make the model's runs go wrong from now on; see `faulty_backend`."""
        file = self.root / model / "fault.json"
        partial = file.with_suffix(".partial")
        partial.write_text(json.dumps(fault))
        partial.replace(file)

    def mend(self, model: str) -> None:
        """Let the model's runs be right again."""
        (self.root / model / "fault.json").unlink(missing_ok=True)

    def add_version(self, model: str, version: int, *, broken: bool = False) -> None:
        """A further version of the model: the same file, or one that is no model."""
        folder = self.root / model / str(version)
        folder.mkdir()
        if broken:
            (folder / "model.onnx").write_bytes(b"not a model")
        else:
            os.link(self.root / model / "1" / "model.onnx", folder / "model.onnx")

    def remove_version(self, model: str, version: int) -> None:
        """Take a version away; one that is loaded stays loaded."""
        shutil.rmtree(self.root / model / str(version))

    def configurations(self, model: str) -> Mapping[Path, str]:
        """The model's configuration and its variants, to be put back with `configure`."""
        files = [self.root / model / "config.pbtxt", *(self.root / model / "configs").glob("*.pbtxt")]
        return {file: file.read_text(encoding="utf-8") for file in files}

    def configure(self, texts: Mapping[Path, str]) -> None:
        """Write configurations anew."""
        for file, text in texts.items():
            file.unlink()
            file.write_text(text, encoding="utf-8")


def _link_data(source: str, target: str) -> None:
    """Models are linked, what a drill may change is copied."""
    if source.endswith(".onnx"):
        os.link(source, target)
    else:
        shutil.copy2(source, target)
