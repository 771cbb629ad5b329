from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from google.protobuf import text_format
from made_models import DICTIONARY, made_wheel
from tritonclient.grpc.model_config_pb2 import ModelConfig

from gateway.inference.configs import ServedModel, read_contract
from triton_models.__main__ import main
from triton_models.build import build_repository
from triton_models.catalog import MODEL_SETS, ModelSet, Normalization
from triton_models.configs import RuntimeOptions
from triton_models.errors import CharsetError, VerificationError, WheelError
from triton_models.graph import GraphKind
from triton_models.layouts import DEFAULT_SHAPES, Layout, recognition_shapes
from triton_models.plans import Recipe
from triton_models.signature import open_session
from triton_models.verify import render_line
from triton_models.wheels import read_member

each_set = pytest.mark.parametrize("model_set", MODEL_SETS.values(), ids=MODEL_SETS)
each_layout = pytest.mark.parametrize("layout", Layout)
each_graph = pytest.mark.parametrize("graph", GraphKind)


@pytest.fixture
def made(tmp_path: Path) -> ModelSet:
    """A set whose wheel is in the cache, so that nothing is downloaded."""
    return made_wheel(tmp_path / "wheels")


def recipe(layout: Layout = Layout.ANY, graph: GraphKind = GraphKind.TOP1) -> Recipe:
    return Recipe(layout=layout, graph=graph, shapes=DEFAULT_SHAPES[layout])


def build(model_set: ModelSet, tmp_path: Path, chosen: Recipe | None = None, **options) -> bool:
    return build_repository(
        model_set,
        tmp_path / "repository",
        chosen or recipe(),
        wheels=tmp_path / "wheels",
        python="/no/python",
        **options,
    )


def read_config(model: Path) -> ModelConfig:
    return text_format.Parse((model / "config.pbtxt").read_text(encoding="utf-8"), ModelConfig())


def served_models(root: Path, kind: str) -> list[ServedModel]:
    return [ServedModel(read_config(model), "1") for model in sorted(root.glob(f"text_{kind}*"))]


def test_a_repository_has_a_folder_a_version_and_configurations_for_each_model(made: ModelSet, tmp_path: Path):
    assert build(made, tmp_path)

    root = tmp_path / "repository"
    assert sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()) == [
        "NOTICE",
        "manifest.json",
        "text_detection/1/model.onnx",
        "text_detection/config.pbtxt",
        "text_detection/configs/cpu.pbtxt",
        "text_detection/configs/gpu.pbtxt",
        "text_recognition/1/model.onnx",
        "text_recognition/config.pbtxt",
        "text_recognition/configs/cpu.pbtxt",
        "text_recognition/configs/gpu.pbtxt",
    ]


def test_a_second_build_has_nothing_to_do(made: ModelSet, tmp_path: Path):
    assert build(made, tmp_path)
    assert not build(made, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"chosen": recipe(graph=GraphKind.ORIGINAL)},
        {"chosen": replace(recipe(), warm_up=False)},
        {"runtime": RuntimeOptions(instances=2)},
    ],
    ids=["graph", "warm-up", "instances"],
)
def test_anything_else_that_is_asked_for_is_built(made: ModelSet, tmp_path: Path, change):
    build(made, tmp_path)

    assert build(made, tmp_path, **change)


def test_a_changed_file_is_put_right(made: ModelSet, tmp_path: Path):
    build(made, tmp_path)
    config = tmp_path / "repository" / "text_detection" / "config.pbtxt"
    right = config.read_text()
    config.write_text("wrong")

    assert build(made, tmp_path)
    assert config.read_text() == right


def test_models_of_one_kind_share_one_file_on_the_disk(made: ModelSet, tmp_path: Path):
    build(made, tmp_path, recipe(Layout.PER_SHAPE))

    files = list((tmp_path / "repository").glob("*/1/model.onnx"))
    shapes = DEFAULT_SHAPES[Layout.PER_SHAPE]
    assert len(files) == len(list(recognition_shapes(shapes))) + len(shapes.detection)
    assert len({path.stat().st_ino for path in files}) == 2


@each_layout
def test_original_graphs_are_the_published_files_to_the_last_byte(made: ModelSet, tmp_path: Path, layout: Layout):
    build(made, tmp_path, recipe(layout, GraphKind.ORIGINAL))

    wheel = tmp_path / "wheels" / made.wheel.filename
    published = {read_member(wheel, made.detection.member), read_member(wheel, made.recognition.member)}
    assert {path.read_bytes() for path in (tmp_path / "repository").glob("*/1/model.onnx")} == published


@each_layout
@each_graph
def test_the_gateway_reads_its_contract_from_what_is_built(
    made: ModelSet, tmp_path: Path, layout: Layout, graph: GraphKind
):
    build(made, tmp_path, recipe(layout, graph))

    root = tmp_path / "repository"
    contract = read_contract(detection=served_models(root, "detection"), recognition=served_models(root, "recognition"))

    shapes = DEFAULT_SHAPES[layout]
    assert contract.model_set == "made"
    assert contract.recognition.buckets == shapes.buckets
    assert contract.recognition.charset == ("", *DICTIONARY, " ")
    assert contract.recognition.line_height == 48
    if layout is Layout.PER_SHAPE:
        assert set(contract.detection.shapes or ()) == set(shapes.detection)
        assert contract.recognition.place(640, 9).name == "text_recognition_w640_r16"


@each_layout
@pytest.mark.parametrize(("built", "given"), [(1, 0), (3, 3)])
def test_the_gateway_reads_how_many_alternatives_were_built(made: ModelSet, tmp_path: Path, layout, built, given):
    build(made, tmp_path, replace(recipe(layout), alternatives=built))

    root = tmp_path / "repository"
    contract = read_contract(detection=served_models(root, "detection"), recognition=served_models(root, "recognition"))
    assert contract.recognition.alternatives == given


def test_alternatives_of_a_published_graph_are_refused_on_stderr(tmp_path: Path, capsys):
    assert main(["build", "--graph", "original", "--alternatives", "3", "--out", str(tmp_path)]) == 1

    assert capsys.readouterr().err == (
        "error: alternatives are an edit of the graph; leave out --graph original, or them\n"
    )


def test_the_dictionary_may_be_a_file_of_its_own(tmp_path: Path):
    made = made_wheel(tmp_path / "wheels", dictionary="x\r\n\u3000\r\nz\r\n")

    build(made, tmp_path)

    config = read_config(tmp_path / "repository" / "text_recognition")
    assert config.parameters["charset"].string_value == "x\n\u3000\nz\n "


def test_a_dictionary_that_does_not_fit_stops_the_build(tmp_path: Path):
    made = made_wheel(tmp_path / "wheels", dictionary="x\ny\n")

    with pytest.raises(CharsetError, match="2 lines, but a recogniser of 5 classes needs 3"):
        build(made, tmp_path)

    assert not (tmp_path / "repository").exists()


def test_a_failed_build_leaves_the_old_repository(made: ModelSet, tmp_path: Path):
    build(made, tmp_path)
    forged = replace(made, detection=replace(made.detection, sha256="0" * 64))

    with pytest.raises(WheelError):
        build(forged, tmp_path)

    assert not build(made, tmp_path)  # up to date


def test_an_edit_that_changes_answers_stops_the_build(made: ModelSet, tmp_path: Path):
    """A scale beyond float32 makes nothing but infinities and nonsense of pixels."""
    broken = Normalization(mean=(0.0, 0.0, 0.0), scale=(1e38, 1e38, 1e38))
    broken_set = replace(made, recognition=replace(made.recognition, normalization=broken))

    with pytest.raises(VerificationError), np.errstate(over="ignore", invalid="ignore"):
        build(broken_set, tmp_path)


@each_graph
def test_the_notice_names_the_source_and_tells_whether_files_were_changed(
    made: ModelSet, tmp_path: Path, graph: GraphKind
):
    build(made, tmp_path, recipe(graph=graph))

    notice = (tmp_path / "repository" / "NOTICE").read_text()
    assert "made-1.0-py3-none-any.whl (Apache-2.0)" in notice
    assert ("were changed" in notice) == (graph is GraphKind.TOP1)


def test_the_list_shows_every_set_with_size_classes_and_licence(capsys):
    assert main(["list"]) == 0

    rows = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()[1:]}
    assert set(rows) == set(MODEL_SETS)
    assert rows["ppocrv6-small"] == ["31.2", "18710", "Apache-2.0", "rapidocr==3.10.0", "(default)"]


def test_an_unknown_set_is_one_line_on_stderr(tmp_path: Path, capsys):
    assert main(["build", "--set", "ppocrv9", "--out", str(tmp_path / "repository")]) == 1

    captured = capsys.readouterr()
    assert captured.err.startswith("error: no model set 'ppocrv9'; there are ppocrv6-small")
    assert len(captured.err.splitlines()) == 1


def test_shapes_that_models_cannot_take_are_one_line_on_stderr(tmp_path: Path, capsys):
    assert main(["build", "--buckets", "100", "--out", str(tmp_path / "repository")]) == 1

    assert capsys.readouterr().err == "error: bucket widths must be multiples of 8, at least one, got (100,)\n"


@pytest.mark.parametrize("shapes", ["736", "736x", "736x736x3", ""])
def test_detection_shapes_that_are_no_shapes_are_a_usage_error(tmp_path: Path, capsys, shapes: str):
    with pytest.raises(SystemExit) as exited:
        main(["build", "--detection-shapes", shapes, "--out", str(tmp_path)])

    assert exited.value.code == 2
    assert "--detection-shapes" in capsys.readouterr().err


@pytest.mark.e2e
def test_the_command_builds_what_it_is_told(tmp_path: Path, wheels: Path):
    command = ["build", "--set", "ppocrv6-tiny", "--layout", "per-shape", "--buckets", "320,1600", "--rows", "1,8"]
    command += ["--detection-shapes", "736x736,736x1152", "--recognition-name", "lines", "--gpu-memory-mib", "512"]

    assert main([*command, "--wheels", str(wheels), "--out", str(tmp_path / "repository")]) == 0

    models = sorted(path.name for path in (tmp_path / "repository").iterdir() if path.is_dir())
    assert models == [
        "lines_w1600_r1",
        "lines_w1600_r4",
        "lines_w320_r1",
        "lines_w320_r8",
        "text_detection_h736_w1152",
        "text_detection_h736_w736",
    ]
    parameters = read_config(tmp_path / "repository" / "lines_w320_r8").parameters
    assert parameters["gpu_mem_limit"].string_value == str(512 << 20)


@pytest.mark.e2e
@each_set
@each_layout
@each_graph
def test_published_sets_build_in_every_layout_and_graph(
    model_set: ModelSet, layout: Layout, graph: GraphKind, tmp_path: Path, wheels: Path
):
    root = tmp_path / "repository"

    assert build_repository(model_set, root, recipe(layout, graph), wheels=wheels)

    contract = read_contract(detection=served_models(root, "detection"), recognition=served_models(root, "recognition"))
    assert contract.model_set == model_set.name
    assert len(contract.recognition.charset) == model_set.classes


@pytest.mark.e2e
@each_set
def test_published_recognisers_read_rendered_text_with_their_charset(model_set: ModelSet, tmp_path: Path, wheels: Path):
    build_repository(model_set, tmp_path / "repository", recipe(), wheels=wheels)
    text = "jumps over (the) lazy dog: 50%"
    session = open_session((tmp_path / "repository/text_recognition/1/model.onnx").read_bytes())
    config = read_config(tmp_path / "repository/text_recognition")

    ((classes,),) = session.run(["class_index"], {"crops": render_line(text, 480)[np.newaxis]})

    charset = ["", *config.parameters["charset"].string_value.split("\n")]
    runs = [index for step, index in enumerate(classes) if index and (step == 0 or index != classes[step - 1])]
    assert "".join(charset[index] for index in runs).strip() == text


@pytest.mark.e2e
@each_set
def test_published_recognisers_make_a_step_of_eight_pixels_in_every_bucket(model_set: ModelSet, tmp_path: Path, wheels):
    build_repository(model_set, tmp_path / "repository", recipe(), wheels=wheels)
    session = open_session((tmp_path / "repository/text_recognition/1/model.onnx").read_bytes())

    for width in DEFAULT_SHAPES[Layout.ANY].buckets:
        (class_index,) = session.run(["class_index"], {"crops": np.full((1, 48, width, 3), 127, np.uint8)})
        assert class_index.shape == (1, width // 8)


@pytest.mark.e2e
@each_set
def test_edited_published_models_are_valid_onnx_with_shapes_inferred(model_set: ModelSet, tmp_path: Path, wheels: Path):
    build_repository(model_set, tmp_path / "repository", recipe(), wheels=wheels)

    for path in (tmp_path / "repository").glob("*/1/model.onnx"):
        onnx.checker.check_model(path, full_check=True)
