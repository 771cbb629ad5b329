"""Model repositories of tiny ONNX models: what each does can be told from its text."""

from pathlib import Path

import onnx
from google.protobuf import text_format
from onnx.parser import parse_model
from tritonclient.grpc.model_config_pb2 import ModelConfig

HEADER = '<ir_version: 8, opset_import: ["": 18]>'

BLUE_MAP = """
detection (uint8[batch, height, width, 3] image) => (uint8[batch, height, width] probability_map) {
    blue = Constant <value = int64 {0}> ()
    probability_map = Gather <axis = 3> (image, blue)
}
"""
"""A detector whose map is the blue channel."""

LOWEST_BITS = """
recognition (uint8[rows, 48, width, 3] crops)
    => (int32[rows, width] class_index, float[rows, width] probability, float[rows, width] space_probability) {
    first = Constant <value = int64 {0}> ()
    classes = Constant <value = int32 {4}> ()
    quarter = Constant <value = float {0.25}> ()
    line = Gather <axis = 1> (crops, first)
    blue = Gather <axis = 2> (line, first)
    wide = Cast <to = 6> (blue)
    class_index = Mod (wide, classes)
    number = Cast <to = 1> (class_index)
    probability = Mul (number, quarter)
    space_probability = Mul (probability, quarter)
}
"""
"""A recogniser of one step per pixel, whose class is the pixel's blue modulo four."""

ENDLESS = """
detection (uint8[batch, height, width, 3] image) => (uint8[batch, height, width] probability_map) {
    blue = Constant <value = int64 {0}> ()
    times = Constant <value = int64 {1000000000000}> ()
    go = Cast <to = 9> (times)
    first = Gather <axis = 3> (image, blue)
    probability_map = Loop <body = again (int64 i, bool go_on, uint8[batch, height, width] x)
        => (bool still, uint8[batch, height, width] y) { still = Identity (go_on) y = Add (x, x) }> (times, go, first)
}
"""
"""A detector that never ends."""

HUGE = """
detection (uint8[batch, height, width, 3] image) => (uint8[batch, height, width] probability_map) {
    blue = Constant <value = int64 {0}> ()
    shape = Constant <value = int64[1] {1000000000000000}> ()
    first = Gather <axis = 3> (image, blue)
    zeros = ConstantOfShape <value = uint8[1] {0}> (shape)
    most = ReduceMax <keepdims = 0> (zeros)
    probability_map = Add (first, most)
}
"""
"""A detector that needs a petabyte."""

BROKEN = """
detection (uint8[batch, height, width, 3] image) => (uint8[batch, height, width] probability_map) {
    shape = Constant <value = int64[3] {7, 7, 7}> ()
    probability_map = Reshape (image, shape)
}
"""
"""A detector that fails for every image that has not 343 values."""


def store(repository: Path, config: ModelConfig, model: str, *, version: str = "1") -> None:
    """Add a model to the repository."""
    folder = repository / config.name
    (folder / version).mkdir(parents=True)
    (folder / "config.pbtxt").write_text(text_format.MessageToString(config, as_utf8=True), encoding="utf-8")
    onnx.save(parse_model(HEADER + model), folder / version / "model.onnx")
