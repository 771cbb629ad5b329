"""Triton's configuration of a model.

Built as a message of Triton's own protocol, so that a field that does not exist can't be written. Complete, so that
Triton runs with `--disable-auto-complete-config`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import DataType, ModelConfig, ModelInstanceGroup

from triton_models.plans import Call, Kind, PlannedModel
from triton_models.signature import Tensor

MODEL_FILE = "model.onnx"
VERSION = "1"
HEURISTIC_SEARCH = "1"
"""cuDNN picks an algorithm by rule instead of by trying all. Either takes equally long in new versions of ONNX Runtime,
but in old ones trying takes seconds, and picking the default (2) runs thirty times slower in all."""


BIASES_APART = {"optimization.disable_specified_optimizers": "ConvAddFusion"}
"""On a GPU a recogniser's biases are added by ONNX Runtime and not by cuDNN, which takes twice as long:
docs/decisions/0015-sharing-a-gpu.md. Detectors gain nothing from it, and for CPUs nothing changes."""


class Engine(StrEnum):
    """What computes."""

    ONNXRUNTIME = "onnxruntime"
    OPENVINO_BF16 = "openvino-bf16"


BACKENDS = {Engine.ONNXRUNTIME: "onnxruntime", Engine.OPENVINO_BF16: "openvino_python"}
"""Triton's names. The second is this project's own and everywhere in Python."""


OPENVINO_SHAPES_KEPT = "500"
"""Of each model, in OpenVINO's own count, in which a shape is several. By default 5,000; at 6 MB a shape that is
gigabytes (docs/decisions/0026-variants-on-cpus.md)."""


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """How models are run.

    Attributes:
        instances: of each model, per GPU or in all on a CPU.
        detection_instances: of each detector; None for as many as of the others.
        cpu_threads: that one call uses on a CPU; None for one per core.
        engine: what computes.
        gpu_memory_bytes: limit of each instance's arena, which is most but not all of what it takes; None for no limit.
    """

    instances: int = 1
    detection_instances: int | None = None
    cpu_threads: int | None = None
    gpu_memory_bytes: int | None = None
    engine: Engine = Engine.ONNXRUNTIME

    def instances_of(self, kind: Kind) -> int:
        """How many there are of each model that does this."""
        own = self.detection_instances if kind is Kind.DETECTION else None
        return self.instances if own is None else own


@dataclass(frozen=True, slots=True)
class Target:
    """What a variant of the configuration is for.

    Attributes:
        path: of the file, in the model's folder. Triton reads `configs/NAME.pbtxt` with `--model-config-name=NAME`.
        kind: of the instances; KIND_AUTO is the GPUs if there are any, else the CPU.
        cpu, gpu: whether to write options for it.
    """

    path: Path
    kind: str
    cpu: bool
    gpu: bool


TARGETS = (
    Target(Path("config.pbtxt"), "KIND_AUTO", cpu=True, gpu=True),
    Target(Path("configs/cpu.pbtxt"), "KIND_CPU", cpu=True, gpu=False),
    Target(Path("configs/gpu.pbtxt"), "KIND_GPU", cpu=False, gpu=True),
)


def render_configs(model: PlannedModel, options: RuntimeOptions) -> dict[Path, str]:
    """The files of one model, by path in its folder."""
    return {
        target.path: text_format.MessageToString(make_config(model, options, target), as_utf8=True)
        for target in TARGETS
    }


def make_config(model: PlannedModel, options: RuntimeOptions, target: Target) -> ModelConfig:
    """The configuration of one model for one target."""
    config = ModelConfig(
        name=model.name,
        backend=BACKENDS[options.engine],
        default_model_filename=MODEL_FILE,
        max_batch_size=model.max_batch_size,
    )
    config.version_policy.latest.num_versions = 1
    _add_tensors(config, model)
    on_cpu = options.engine is Engine.OPENVINO_BF16
    kind = ModelInstanceGroup.Kind.Value("KIND_CPU" if on_cpu else target.kind)
    config.instance_group.add(count=options.instances_of(model.kind), kind=kind)
    # Without a batcher Triton runs calls that were cancelled while they waited. Its queue policies stay unset: they
    # stall the batcher. Bounding, deadlines and priorities are the gateway's.
    config.dynamic_batching.SetInParent()
    for call in model.warm_up:
        _add_warm_up(config, model.input, call)
    for key, value in sorted({**model.parameters, **_runtime_parameters(model.kind, options, target)}.items()):
        config.parameters[key].string_value = value
    return config


def _add_tensors(config: ModelConfig, model: PlannedModel) -> None:
    for field, tensors in ((config.input, (model.input,)), (config.output, model.outputs)):
        for tensor in tensors:
            field.add(name=tensor.name, data_type=DataType.Value(tensor.data_type), dims=tensor.dims)


def _add_warm_up(config: ModelConfig, tensor: Tensor, call: Call) -> None:
    sizes = "x".join(map(str, (call.rows, *call.dims)))
    sample = config.model_warmup.add(name=sizes, batch_size=call.rows)
    warm_input = sample.inputs[tensor.name]
    warm_input.data_type = DataType.Value(tensor.data_type)
    warm_input.dims.extend(call.dims)
    warm_input.zero_data = True


def _runtime_parameters(kind: Kind, options: RuntimeOptions, target: Target) -> Mapping[str, str]:
    """Options of ONNX Runtime, or of OpenVINO.

    ONNX Runtime's C++ backend reads its own here; given as options of the "cuda" accelerator it overwrites these with
    its defaults.
    """
    if options.engine is Engine.OPENVINO_BF16:
        threads = {} if options.cpu_threads is None else {"INFERENCE_NUM_THREADS": str(options.cpu_threads)}
        return {
            "INFERENCE_PRECISION_HINT": "bf16",
            "CPU_RUNTIME_CACHE_CAPACITY": OPENVINO_SHAPES_KEPT,
            **threads,
        }
    # Threads that spin while they wait take the cores from the other model's: a fifth of the time of both.
    cpu = {"intra_op_thread_count": options.cpu_threads, "session.intra_op.allow_spinning": 0}
    gpu = {"cudnn_conv_algo_search": HEURISTIC_SEARCH, "gpu_mem_limit": options.gpu_memory_bytes}
    apart = kind is Kind.RECOGNITION and not target.cpu
    chosen = {**(cpu if target.cpu else {}), **(gpu if target.gpu else {}), **(BIASES_APART if apart else {})}
    return {key: str(value) for key, value in chosen.items() if value is not None}
