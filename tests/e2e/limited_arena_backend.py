"""The project's ONNX Runtime backend on a CPU with as little memory as a model's parameter says: it really runs out.

Staged as `model.py` beside the real one, which keeps another name; Triton's stub imports it by path.
"""

import importlib.util
import json
from pathlib import Path

import onnxruntime as ort

SPEC = importlib.util.spec_from_file_location("real_model", Path(__file__).with_name("real_model.py"))
real = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(real)

ARENA_BYTES = "test_arena_bytes"
EXACTLY_WHAT_IS_ASKED_FOR = 1
DEFAULT = -1


class TritonPythonModel(real.TritonPythonModel):
    """One instance of a model whose session shares an arena of limited size with nobody."""

    def initialize(self, args):
        config = json.loads(args["model_config"])
        if ARENA_BYTES in config["parameters"]:
            limit_arena(int(config["parameters"][ARENA_BYTES]["string_value"]))
            config["parameters"]["session.use_env_allocators"] = {"string_value": "1"}
        super().initialize(args | {"model_config": json.dumps(config)})


def limit_arena(most_bytes):
    """The arena of all sessions of this process that ask for it."""
    options = {
        "max_mem": most_bytes,
        "arena_extend_strategy": EXACTLY_WHAT_IS_ASKED_FOR,
        "initial_chunk_size_bytes": DEFAULT,
        "max_dead_bytes_per_chunk": DEFAULT,
    }
    memory = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    ort.create_and_register_allocator(memory, ort.OrtArenaCfg(options))
