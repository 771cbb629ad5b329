from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import TYPE_UINT8, ModelConfig, ModelInstanceGroup

from triton_models.configs import TARGETS, Engine, RuntimeOptions, make_config, render_configs
from triton_models.plans import Call, Kind, PlannedModel
from triton_models.signature import Tensor

CHARSET = "!\n\"\n\\\n'\n\u3000\n🇩🇪\n\u2028\n "
MODEL = PlannedModel(
    kind=Kind.RECOGNITION,
    name="text_recognition",
    input=Tensor("crops", "TYPE_UINT8", (48, -1, 3)),
    outputs=(Tensor("class_index", "TYPE_INT32", (-1,)), Tensor("probability", "TYPE_FP32", (-1,))),
    max_batch_size=64,
    parameters={"graph": "top1", "charset": CHARSET},
    warm_up=(Call(1, (48, 320, 3)), Call(32, (48, 320, 3))),
)
DETECTOR = replace(MODEL, kind=Kind.DETECTION, name="text_detection")
AUTO, CPU, GPU = TARGETS


def parameters(config: ModelConfig) -> dict[str, str]:
    return {key: value.string_value for key, value in config.parameters.items()}


def test_the_text_form_reads_back_as_the_same_configuration():
    for target in TARGETS:
        text = render_configs(MODEL, RuntimeOptions())[target.path]

        assert text_format.Parse(text, ModelConfig()) == make_config(MODEL, RuntimeOptions(), target)


def test_classes_survive_the_text_form_to_the_last_code_point():
    text = render_configs(MODEL, RuntimeOptions())[Path("config.pbtxt")]

    assert parameters(text_format.Parse(text, ModelConfig()))["charset"] == CHARSET
    assert "🇩🇪" in text


def test_the_configuration_is_complete_without_auto_completion():
    config = make_config(MODEL, RuntimeOptions(), AUTO)

    assert (config.name, config.backend, config.default_model_filename) == (
        "text_recognition",
        "onnxruntime",
        "model.onnx",
    )
    assert config.max_batch_size == 64
    assert config.version_policy.latest.num_versions == 1
    assert [(tensor.name, tensor.data_type, list(tensor.dims)) for tensor in config.input] == [
        ("crops", TYPE_UINT8, [48, -1, 3])
    ]
    assert [(tensor.name, list(tensor.dims)) for tensor in config.output] == [
        ("class_index", [-1]),
        ("probability", [-1]),
    ]


def test_there_is_a_batcher_and_it_has_no_queue_policy():
    config = make_config(MODEL, RuntimeOptions(), AUTO)

    assert config.HasField("dynamic_batching")
    assert config.dynamic_batching.ListFields() == []


def test_every_call_of_the_plan_is_warmed_up():
    config = make_config(MODEL, RuntimeOptions(), AUTO)

    assert [(sample.name, sample.batch_size, sample.count) for sample in config.model_warmup] == [
        ("1x48x320x3", 1, 0),
        ("32x48x320x3", 32, 0),
    ]
    warm_input = config.model_warmup[1].inputs["crops"]
    assert (warm_input.data_type, list(warm_input.dims), warm_input.zero_data) == (TYPE_UINT8, [48, 320, 3], True)


@pytest.mark.parametrize(
    ("target", "path", "kind"),
    [
        (AUTO, "config.pbtxt", ModelInstanceGroup.KIND_AUTO),
        (CPU, "configs/cpu.pbtxt", ModelInstanceGroup.KIND_CPU),
        (GPU, "configs/gpu.pbtxt", ModelInstanceGroup.KIND_GPU),
    ],
)
def test_each_target_has_a_file_and_an_explicit_number_of_instances(target, path: str, kind: int):
    config = make_config(MODEL, RuntimeOptions(instances=2), target)

    assert target.path == Path(path)
    assert [(group.kind, group.count) for group in config.instance_group] == [(kind, 2)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (RuntimeOptions(), (1, 1)),
        (RuntimeOptions(instances=2), (2, 2)),
        (RuntimeOptions(detection_instances=2), (2, 1)),
        (RuntimeOptions(instances=3, detection_instances=1), (1, 3)),
    ],
)
def test_detectors_can_have_a_number_of_instances_of_their_own(options, expected):
    counts = tuple(make_config(model, options, GPU).instance_group[0].count for model in (DETECTOR, MODEL))

    assert counts == expected


APART = {"optimization.disable_specified_optimizers": "ConvAddFusion"}
NO_SPINNING = {"session.intra_op.allow_spinning": "0"}


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (
            AUTO,
            {**NO_SPINNING, "intra_op_thread_count": "4", "cudnn_conv_algo_search": "1", "gpu_mem_limit": "1073741824"},
        ),
        (CPU, {**NO_SPINNING, "intra_op_thread_count": "4"}),
        (GPU, {**APART, "cudnn_conv_algo_search": "1", "gpu_mem_limit": "1073741824"}),
    ],
    ids=["auto", "cpu", "gpu"],
)
def test_each_target_has_the_options_that_mean_something_to_it(target, expected):
    options = RuntimeOptions(cpu_threads=4, gpu_memory_bytes=1 << 30)

    config = make_config(MODEL, options, target)

    assert parameters(config) == {**MODEL.parameters, **expected}
    assert not config.HasField("optimization")  # the C++ backend overwrites these keys when they stand there


def test_only_recognisers_that_are_surely_on_a_gpu_have_their_biases_apart():
    told = [
        APART.items() <= parameters(make_config(model, RuntimeOptions(), target)).items()
        for model in (DETECTOR, MODEL)
        for target in (AUTO, CPU, GPU)
    ]

    assert told == [False, False, False, False, False, True]


def test_options_left_open_are_left_to_onnx_runtime():
    assert set(parameters(make_config(MODEL, RuntimeOptions(), CPU))) == {"graph", "charset", *NO_SPINNING}


def test_openvino_computes_on_the_cpu_whatever_the_target():
    options = RuntimeOptions(cpu_threads=4, engine=Engine.OPENVINO_BF16)

    for target in TARGETS:
        config = make_config(MODEL, options, target)

        assert (config.backend, config.instance_group[0].kind) == ("openvino_python", ModelInstanceGroup.KIND_CPU)
        assert parameters(config) == {
            **MODEL.parameters,
            "INFERENCE_PRECISION_HINT": "bf16",
            "INFERENCE_NUM_THREADS": "4",
            "CPU_RUNTIME_CACHE_CAPACITY": "500",
        }
