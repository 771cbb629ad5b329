"""The command line: `python -m triton_models build ...` and `python -m triton_models list`."""

import argparse
import logging
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from triton_models.build import DEFAULT_WHEELS, build_repository
from triton_models.catalog import DEFAULT_MODEL_SET, MODEL_SETS, find_model_set
from triton_models.configs import Engine, RuntimeOptions
from triton_models.errors import BuildError
from triton_models.graph import MAX_ALTERNATIVES, NO_ALTERNATIVES, GraphKind
from triton_models.layouts import DEFAULT_SHAPES, Layout, Shapes
from triton_models.plans import Names, Recipe

_MEGABYTE = 1_000_000
_MEBIBYTE = 1 << 20
_ROW = "{:<16} {:>6} {:>8}  {:<12} {}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        return int(options.command(options))
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def list_sets(_: argparse.Namespace) -> int:
    """Print the model sets."""
    print(_ROW.format("set", "MB", "classes", "licence", "source"))
    for model_set in MODEL_SETS.values():
        size = f"{model_set.size / _MEGABYTE:.1f}"
        wheel = model_set.wheel
        source = f"{wheel.requirement}{' (default)' if model_set.name == DEFAULT_MODEL_SET else ''}"
        print(_ROW.format(model_set.name, size, model_set.classes, wheel.licence, source))
    return 0


def build(options: argparse.Namespace) -> int:
    """Build a repository."""
    recipe = Recipe(
        layout=options.layout,
        graph=options.graph,
        shapes=_shapes(options),
        names=Names(options.detection_name, options.recognition_name),
        warm_up=options.warm_up,
        alternatives=options.alternatives,
    )
    memory = options.gpu_memory_mib
    runtime = RuntimeOptions(
        instances=options.instances,
        detection_instances=options.detection_instances,
        cpu_threads=options.cpu_threads,
        engine=options.engine,
        gpu_memory_bytes=None if memory is None else memory * _MEBIBYTE,
    )
    model_set = find_model_set(options.set)
    build_repository(model_set, options.out, recipe, runtime=runtime, wheels=options.wheels, python=options.python)
    return 0


def _shapes(options: argparse.Namespace) -> Shapes:
    chosen = {
        "buckets": options.buckets,
        "row_counts": options.rows,
        "detection": options.detection_shapes,
    }
    return replace(DEFAULT_SHAPES[options.layout], **{key: value for key, value in chosen.items() if value is not None})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m triton_models", description="Model repositories for Triton.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="show the model sets")
    listing.set_defaults(command=list_sets)
    building = commands.add_parser("build", help="build a repository from published wheels")
    building.set_defaults(command=build)
    _add_model_options(building)
    _add_shape_options(building)
    _add_runtime_options(building)
    return parser


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    names = Names()
    parser.add_argument("--out", type=Path, required=True, help="folder of the repository")
    parser.add_argument("--set", default=DEFAULT_MODEL_SET, help="model set (default: %(default)s)")
    parser.add_argument(
        "--layout", type=Layout, choices=list(Layout), default=Layout.ANY,
        help="one model for any shape (CPU), or one per shape (GPU); default: %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--graph", type=GraphKind, choices=list(GraphKind), default=GraphKind.TOP1,
        help="edited for small messages, or as published; default: %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--alternatives", type=int, default=NO_ALTERNATIVES, metavar="K",
        help=f"classes that a request may get for each character, up to {MAX_ALTERNATIVES} (default: the best alone)",
    )  # fmt: skip
    parser.add_argument("--detection-name", default=names.detection, help="in Triton (default: %(default)s)")
    parser.add_argument("--recognition-name", default=names.recognition, help="in Triton (default: %(default)s)")
    parser.add_argument("--wheels", type=Path, default=DEFAULT_WHEELS, help="cache (default: %(default)s)")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with pip (default: this one)")


def _add_shape_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--buckets", type=_numbers, metavar="W,W,...", help="widths of lines")
    parser.add_argument("--rows", type=_numbers, metavar="N,N,...", help="row counts, in layout per-shape")
    parser.add_argument("--detection-shapes", type=_pairs, metavar="HxW,HxW,...", help="sizes of pages")
    parser.add_argument("--no-warm-up", dest="warm_up", action="store_false", help="load models without running them")


def _add_runtime_options(parser: argparse.ArgumentParser) -> None:
    defaults = RuntimeOptions()
    parser.add_argument("--instances", type=int, default=defaults.instances, help="of each model")
    parser.add_argument("--detection-instances", type=int, help="of each detector (default: as --instances)")
    parser.add_argument("--cpu-threads", type=int, help="of one call on a CPU (default: one per core)")
    parser.add_argument(
        "--engine", type=Engine, choices=list(Engine), default=defaults.engine,
        help="what computes; openvino-bf16 is for CPUs (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--gpu-memory-mib", type=int, help="limit of each instance's arena (default: none)")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


def _pairs(text: str) -> tuple[tuple[int, int], ...]:
    shapes = []
    for pair in text.split(","):
        height, width = pair.split("x")
        shapes.append((int(height), int(width)))
    return tuple(shapes)


if __name__ == "__main__":
    sys.exit(main())
