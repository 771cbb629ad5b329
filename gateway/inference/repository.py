"""Reading a model repository from disk, as Triton would: `NAME/config.pbtxt` and `NAME/VERSION/model.onnx`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from gateway.errors import ContractError
from gateway.inference.configs import ServedModel, names_per_shape


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model on disk.

    Attributes:
        served: its configuration and version.
        file: the ONNX file of that version.
    """

    served: ServedModel
    file: Path

    @property
    def name(self) -> str:
        """Its name in Triton."""
        return str(self.served.config.name)


def read_models(repository: Path, name: str) -> list[StoredModel]:
    """The model of this name, or those of this name and one shape each.

    Raises:
        ContractError: there is none, or one is incomplete.
    """
    folders = sorted(folder.name for folder in repository.glob("*/"))
    names = [name] if name in folders else names_per_shape(name, folders)
    if not names:
        raise ContractError(f"{repository} holds no model {name} nor one per shape; it holds {folders}")
    return [_read_model(repository / one) for one in names]


def _read_model(folder: Path) -> StoredModel:
    config = _read_config(folder)
    file = _newest_version(folder, config.default_model_filename or "model.onnx")
    return StoredModel(ServedModel(config, file.parent.name), file)


def _read_config(folder: Path) -> ModelConfig:
    path = folder / "config.pbtxt"
    try:
        config = text_format.Parse(path.read_text(encoding="utf-8"), ModelConfig())
    except (OSError, text_format.ParseError) as error:
        raise ContractError(f"{path} can't be read: {error}") from error
    config.name = config.name or folder.name
    return config


def _newest_version(folder: Path, file_name: str) -> Path:
    files: Sequence[Path] = [file for file in folder.glob(f"*/{file_name}") if file.parent.name.isdecimal()]
    if not files:
        raise ContractError(f"{folder} has no version with a {file_name}")
    return max(files, key=lambda file: int(file.parent.name))
