"""Pages are the same every time, variants of a repository leave it alone, archives hold what they must."""

import re
import tarfile

import pytest
from google.protobuf import text_format
from PIL import Image
from tritonclient.grpc.model_config_pb2 import ModelConfig

from loadtest.gpu.packing import leave_out, locked, write_archive
from loadtest.gpu.pages import corpus_pages, drawn_forms, read_pages, spread, write_pages
from loadtest.gpu.stand import cuda_libraries, free_ports
from loadtest.gpu.variants import combined, edited_copy, instances, little_memory


@pytest.fixture
def repository(tmp_path):
    for rows in (1, 32):
        folder = tmp_path / "small" / f"rec_r{rows}"
        config = ModelConfig(name=folder.name)
        config.instance_group.add(count=1)
        config.parameters["rows"].string_value = str(rows)
        config.model_warmup.add(name="sample", batch_size=rows)
        (folder / "configs").mkdir(parents=True)
        (folder / "configs" / "gpu.pbtxt").write_text(text_format.MessageToString(config))
        (folder / "1").mkdir()
        (folder / "1" / "model.onnx").write_bytes(b"model")
    return tmp_path / "small"


def config_of(repository, model):
    return text_format.Parse((repository / model / "configs" / "gpu.pbtxt").read_text(), ModelConfig())


def test_recognisers_of_many_rows_get_little_memory_and_no_warm_up(repository, tmp_path):
    edited_copy(repository, tmp_path / "tight", little_memory(least_rows=16, mebibytes=64))
    tight, roomy = config_of(tmp_path / "tight", "rec_r32"), config_of(tmp_path / "tight", "rec_r1")
    assert tight.parameters["gpu_mem_limit"].string_value == str(64 << 20)
    assert not tight.model_warmup
    assert "gpu_mem_limit" not in roomy.parameters
    assert roomy.model_warmup


def test_a_variant_leaves_its_original_alone_and_shares_its_models(repository, tmp_path):
    edited_copy(repository, tmp_path / "twice", instances(2))
    assert config_of(tmp_path / "twice", "rec_r1").instance_group[0].count == 2
    assert config_of(repository, "rec_r1").instance_group[0].count == 1
    assert (tmp_path / "twice/rec_r1/1/model.onnx").samefile(repository / "rec_r1/1/model.onnx")


def test_a_repository_is_combined_of_the_models_of_others(repository, tmp_path):
    combined(tmp_path / "mixed", {"rec_r1": repository, "rec_r3*": repository, "absent*": repository})
    assert sorted(path.name for path in (tmp_path / "mixed").iterdir()) == ["rec_r1", "rec_r32"]
    assert (tmp_path / "mixed/rec_r1/1/model.onnx").samefile(repository / "rec_r1/1/model.onnx")


def test_forms_are_drawn_the_same_every_time(tmp_path):
    forms = drawn_forms(2)
    assert forms == drawn_forms(2)
    assert forms[0].data != forms[1].data
    write_pages(forms, tmp_path)
    assert read_pages(tmp_path) == {"forms": forms}
    with Image.open(tmp_path / "forms" / "form_00.jpg") as image:
        assert image.size == (762, 1000)


@pytest.mark.parametrize(("count", "expected"), [(0, []), (3, [0, 1, 2]), (6, [0, 2, 4])])
def test_pages_are_taken_evenly_from_first_to_last(tmp_path, count, expected):
    paths = [tmp_path / str(number) for number in range(count)]
    assert spread(paths, most=3) == [paths[index] for index in expected]


def test_a_missing_corpus_has_no_pages(tmp_path):
    assert corpus_pages(tmp_path) == []


def test_versions_come_from_the_lock_file():
    assert locked("gateway.txt", ["fastapi", "tritonclient"])[0].startswith("fastapi==")
    assert locked("triton.txt", ["nvidia-pytriton"]) == ["nvidia-pytriton==0.7.0"]


def test_an_archive_keeps_hard_links_and_leaves_out_what_is_not_wanted(tmp_path):
    folder = tmp_path / "in"
    (folder / "models").mkdir(parents=True)
    (folder / "models" / "a.onnx").write_bytes(b"x" * 1000)
    (folder / "models" / "b.onnx").hardlink_to(folder / "models" / "a.onnx")
    (folder / "models" / "unused.so").write_bytes(b"y")
    write_archive(tmp_path / "out.tar.xz", folder, leave_out(re.compile(r"/unused")))
    with tarfile.open(tmp_path / "out.tar.xz") as archive:
        members = {member.name: member for member in archive}
    assert sorted(members) == ["models", "models/a.onnx", "models/b.onnx"]
    assert members["models/b.onnx"].islnk()


def test_free_ports_are_different():
    assert len(set(free_ports(5))) == 5


def test_cuda_libraries_are_where_packages_put_them():
    assert all(folder.name == "lib" for folder in cuda_libraries())
