"""Repositories made of others: with a configuration edited here and there, or with models of two."""

import os
import shutil
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

Edit = Callable[[ModelConfig], None]


def edited_copy(repository: Path, out: Path, edit: Edit) -> None:
    """Copy a repository or a model, every configuration edited; the models are links to the same files."""
    shutil.copytree(repository, out, copy_function=os.link)
    for path in out.rglob("*.pbtxt"):
        config = text_format.Parse(path.read_text(encoding="utf-8"), ModelConfig())
        edit(config)
        path.unlink()  # else the original would be written through the link
        path.write_text(text_format.MessageToString(config, as_utf8=True), encoding="utf-8")


def combined(out: Path, sources: Mapping[str, Path]) -> None:
    """A repository of the models that match a pattern in each source, as links to the same files."""
    for pattern, repository in sources.items():
        for model in repository.glob(pattern):
            shutil.copytree(model, out / model.name, copy_function=os.link)


def instances(count: int) -> Edit:
    """So many instances of every model."""

    def edit(config: ModelConfig) -> None:
        for group in config.instance_group:
            group.count = count

    return edit


def only(pattern: str, edit: Edit) -> Edit:
    """The edit for the models whose name matches."""
    return lambda config: edit(config) if fnmatchcase(config.name, pattern) else None


def parameter(name: str, value: str) -> Edit:
    """A parameter of every model."""

    def edit(config: ModelConfig) -> None:
        config.parameters[name].string_value = value

    return edit


def further_rows(repository: Path, model: str, rows: int) -> None:
    """A further recogniser like this one for another number of rows; `model` ends with its own number, as in `_r32`."""
    name = f"{model.rpartition('_r')[0]}_r{rows}"

    def edit(config: ModelConfig) -> None:
        config.name, config.max_batch_size = name, rows
        config.parameters["rows"].string_value = str(rows)
        for sample in config.model_warmup:
            sample.batch_size = rows

    edited_copy(repository / model, repository / name, edit)


def all_of(*edits: Edit) -> Edit:
    """Several edits one after another."""

    def edit(config: ModelConfig) -> None:
        for one in edits:
            one(config)

    return edit


def little_memory(*, least_rows: int, mebibytes: int) -> Edit:
    """Recognisers of so many rows or more get an arena of this size.

    They are not warmed up, or they would not load.
    """

    def edit(config: ModelConfig) -> None:
        if "rows" in config.parameters and int(config.parameters["rows"].string_value) >= least_rows:
            del config.model_warmup[:]
            config.parameters["gpu_mem_limit"].string_value = str(mebibytes << 20)

    return edit
