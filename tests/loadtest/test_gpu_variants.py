"""What is tried on a GPU says the same as what is served, and what is measured is told apart."""

import os
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from tritonclient.grpc.model_config_pb2 import ModelConfig

from loadtest.gpu.faults import CALM_S, back_after_s, process_of
from loadtest.gpu.graphs import means_by_reduction, means_in_two_steps
from loadtest.gpu.kernels import families, family_of
from loadtest.gpu.load import Sample
from loadtest.gpu.memory import OwnMemory
from loadtest.gpu.mps import NoMpsError, mps
from loadtest.gpu.peer import figures
from loadtest.gpu.switching import add_version, by_phase
from loadtest.gpu.variants import all_of, instances, only, parameter


@pytest.fixture
def means():
    """A page's mean in both ways in which models have it, and a mean of another kind."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["x"], ["pooled"]),
        helper.make_node("ReduceMean", ["x"], ["reduced"], axes=[2, 3], keepdims=1),
        helper.make_node("ReduceMean", ["x"], ["rows"], axes=[-1], keepdims=1),
    ]
    page = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "h", "w"])
    outputs = [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, [1, 3, None, 1]) for node in nodes]
    return helper.make_model(
        helper.make_graph(nodes, "means", [page], outputs), opset_imports=[helper.make_opsetid("", 11)]
    )


@pytest.mark.parametrize(("change", "reductions"), [(means_by_reduction, 3), (means_in_two_steps, 5)])
def test_changed_means_are_the_same_means(means, change, reductions):
    page = {"x": np.random.default_rng(0).random((1, 3, 6, 8), np.float32)}
    changed = change(means)
    onnx.checker.check_model(changed)
    assert [node.op_type for node in changed.graph.node] == ["ReduceMean"] * reductions
    for got, expected in zip(
        ReferenceEvaluator(changed).run(None, page), ReferenceEvaluator(means).run(None, page), strict=True
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("kernel", "family"),
    [
        ("void op_generic_tensor_kernel<4, float, float>", "biases, added by cuDNN"),
        ("conv2d_c1_k1_nchw_hw_packed", "depthwise convolutions"),
        ("void cudnn::engines_precompiled::nchwToNhwcKernel<float>", "change of layout"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x128_32x3_nn_align4>", "convolutions and products"),
        ("void onnxruntime::cuda::_UnaryElementWise<float, onnxruntime::cuda::OP_Gelu>", "arithmetic by element"),
        ("Memcpy HtoD (Pageable -> Device)", "copies"),
    ],
)  # fmt: skip
def test_kernels_are_known_by_their_names(kernel, family):
    assert family_of(kernel) == family


def test_kernels_of_a_family_add_up():
    assert families([("Memcpy HtoD", 5.0, 1), ("Memcpy DtoH", 2.25, 2)]) == {"copies": {"us": 7.2, "launches": 3}}


def test_some_models_are_edited_in_several_ways():
    detector, recogniser = (ModelConfig(name=name) for name in ("text_detection_1", "text_recognition_1"))
    edit = all_of(only("text_d*", instances(2)), parameter("a", "b"))
    for config in (detector, recogniser):
        config.instance_group.add(count=1)
        edit(config)
    assert (detector.instance_group[0].count, recogniser.instance_group[0].count) == (2, 1)
    assert recogniser.parameters["a"].string_value == "b"


def sample(due_s: float, status: int = 200, seconds: float = 0.1) -> Sample:
    return Sample(due_s, seconds, status, {})


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([], None),
        ([sample(1.0), sample(CALM_S + 1)], 0.0),
        ([sample(CALM_S + 1, 503), sample(CALM_S + 2.5, 0), sample(CALM_S + 3)], 2.5),
        ([sample(1.0), sample(CALM_S + 1, 503)], None),
    ],
)
def test_a_service_is_back_after_the_last_page_that_was_lost(samples, expected):
    assert back_after_s(samples) == expected


def test_a_models_process_is_known_by_its_folder(tmp_path):
    folder = tmp_path / "text_recognition_x"
    folder.mkdir()
    model = folder / "sleep.py"
    model.write_text("import time; time.sleep(60)")
    process = os.posix_spawn(sys.executable, [sys.executable, str(model)], {}, setpgroup=0)
    try:
        assert process_of(process, "text_recognition_x") == process
    finally:
        os.kill(process, 9)
        os.waitpid(process, 0)


def test_latency_is_told_by_phase():
    samples = [sample(1.0), sample(5.0, seconds=0.3), sample(5.5, 503), sample(9.0, seconds=0.2)]
    phases = by_phase(samples, {"before": 0.0, "meanwhile": 4.0, "after": 8.0})
    assert [phase["pages"] for phase in phases.values()] == [1, 1, 1]
    assert [phase["p95_ms"] for phase in phases.values()] == [100.0, 300.0, 200.0]


def test_a_further_version_is_the_same_file(tmp_path):
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "model.onnx").write_bytes(b"model")
    add_version(tmp_path)
    assert (tmp_path / "2" / "model.onnx").samefile(tmp_path / "1" / "model.onnx")


def test_pages_of_processes_add_up():
    assert figures([[0.5, 0.5], [1.0]]) == {"pages": 3, "images_per_s": 3.0, "seconds": [0.5, 0.5, 1.0]}


def test_a_process_knows_its_own_memory_among_others():
    lines = f"1, 7\\n{os.getpid()}, 2048\\n2, 9"
    with OwnMemory([sys.executable, "-c", f"import time; print('{lines}', flush=True); time.sleep(9)"]) as memory:
        while memory.mebibytes is None:
            time.sleep(0.01)
    assert memory.mebibytes == 2048.0


def test_without_a_driver_no_memory_is_known():
    with OwnMemory(["/nonexistent/nvidia-smi"]) as memory:
        assert memory.mebibytes is None


def test_sharing_a_gpu_without_a_daemon_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoMpsError, match="nvidia-cuda-mps-control"), mps(tmp_path / "mps"):
        pass
    assert "CUDA_MPS_PIPE_DIRECTORY" not in os.environ
