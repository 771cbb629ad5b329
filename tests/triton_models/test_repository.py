import os
import stat
from pathlib import Path

import pytest

from triton_models.errors import RepositoryError
from triton_models.repository import _swap, is_current, link_file, replaced_repository, write_data, write_text

INPUTS = {"model_set": "made", "shapes": [[736, 736]]}


def write_repository(root: Path, text: str = "a", inputs=INPUTS) -> None:
    with replaced_repository(root, inputs) as new:
        write_text(new / "model" / "config.pbtxt", text)


def test_a_folder_that_is_not_there_is_not_current(tmp_path: Path):
    assert not is_current(tmp_path / "repository", INPUTS)


def test_a_repository_is_current_as_long_as_inputs_and_files_are_the_same(tmp_path: Path):
    write_repository(tmp_path / "repository")

    assert is_current(tmp_path / "repository", INPUTS)
    assert not is_current(tmp_path / "repository", {**INPUTS, "model_set": "other"})


@pytest.mark.parametrize("manifest", ["", "no JSON", "[]", "{}", '{"inputs": {}, "files": 3}'])
def test_a_repository_with_a_broken_manifest_is_not_current(tmp_path: Path, manifest: str):
    write_repository(tmp_path / "repository")
    (tmp_path / "repository" / "manifest.json").write_text(manifest)

    assert not is_current(tmp_path / "repository", INPUTS)


def test_a_changed_file_makes_a_repository_out_of_date(tmp_path: Path):
    write_repository(tmp_path / "repository")
    (tmp_path / "repository" / "model" / "config.pbtxt").write_text("b")

    assert not is_current(tmp_path / "repository", INPUTS)


def test_a_lost_file_makes_a_repository_out_of_date(tmp_path: Path):
    write_repository(tmp_path / "repository")
    (tmp_path / "repository" / "model" / "config.pbtxt").unlink()

    assert not is_current(tmp_path / "repository", INPUTS)


def test_a_new_repository_takes_the_place_of_the_old_one_whole(tmp_path: Path):
    root = tmp_path / "repository"
    write_repository(root)
    write_text(root / "left_over" / "config.pbtxt", "c")

    write_repository(root, "b", {"model_set": "other"})

    assert (root / "model" / "config.pbtxt").read_text() == "b"
    assert not (root / "left_over").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["repository"]


def test_a_build_that_fails_leaves_the_old_repository(tmp_path: Path):
    root = tmp_path / "repository"
    write_repository(root)

    def fail() -> None:
        with replaced_repository(root, {}) as new:
            write_text(new / "model" / "config.pbtxt", "half done")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert is_current(root, INPUTS)
    assert [path.name for path in tmp_path.iterdir()] == ["repository"]


def test_an_empty_folder_may_become_a_repository(tmp_path: Path):
    (tmp_path / "repository").mkdir()

    write_repository(tmp_path / "repository")

    assert is_current(tmp_path / "repository", INPUTS)


def test_a_folder_with_something_else_in_it_is_not_touched(tmp_path: Path):
    write_text(tmp_path / "documents" / "thesis.txt", "precious")

    with pytest.raises(RepositoryError, match="was not written by this program"):
        write_repository(tmp_path / "documents")

    assert (tmp_path / "documents" / "thesis.txt").read_text() == "precious"


def test_a_mount_point_is_refused_with_a_remedy():
    with pytest.raises(RepositoryError, match=r"/proc is a mount point.*build into a folder within it"):
        write_repository(Path("/proc"))


def test_other_users_can_read_the_repository(tmp_path: Path):
    """Triton runs as another user than the builder."""
    previous = os.umask(0o022)
    try:
        write_repository(tmp_path / "repository")
    finally:
        os.umask(previous)

    assert stat.S_IMODE((tmp_path / "repository").stat().st_mode) == 0o755


def test_a_linked_file_takes_no_room_and_is_in_the_manifest(tmp_path: Path):
    root = tmp_path / "repository"
    with replaced_repository(root, INPUTS) as new:
        write_data(new / "a" / "1" / "model.onnx", b"model")
        link_file(new / "a" / "1" / "model.onnx", new / "b" / "1" / "model.onnx")

    assert (root / "b/1/model.onnx").samefile(root / "a/1/model.onnx")
    (root / "b/1/model.onnx").write_bytes(b"other")
    assert not is_current(root, INPUTS)


def test_a_file_is_copied_where_there_are_no_links(tmp_path: Path):
    """Linking to what is there already fails as on a file system without links."""
    write_data(tmp_path / "a", b"model")
    write_data(tmp_path / "b", b"")

    link_file(tmp_path / "a", tmp_path / "b")

    assert (tmp_path / "b").read_bytes() == b"model"
    assert not (tmp_path / "b").samefile(tmp_path / "a")


def test_a_rename_that_fails_brings_the_old_repository_back(tmp_path: Path):
    root = tmp_path / "repository"
    write_repository(root)

    with pytest.raises(FileNotFoundError):
        _swap(tmp_path / "missing", root, old=tmp_path / "old")

    assert is_current(root, INPUTS)
