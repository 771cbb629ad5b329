import time

import pytest

from triton_models import releases
from triton_models.errors import RepositoryError


def repository(folder, *, names=("text_detection", "text_recognition"), words="old"):
    for name in names:
        (folder / name / "1").mkdir(parents=True)
        (folder / name / "1" / "model.onnx").write_text(f"{words} {name}")
        (folder / name / "config.pbtxt").write_text(f'name: "{name}"\n# {words}\n')
        (folder / name / "configs").mkdir()
        (folder / name / "configs" / "gpu.pbtxt").write_text(f'name: "{name}"\n# {words} gpu\n')
    return folder


@pytest.fixture
def served(tmp_path):
    return repository(tmp_path / "served")


@pytest.fixture
def source(tmp_path):
    return repository(tmp_path / "source", words="new")


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_candidates_lie_beside_the_models_under_names_of_their_own_and_leave_no_trace(served, source):
    before = contents(served)
    assert releases.stage(source, served) == ["candidate_text_detection", "candidate_text_recognition"]
    staged = served / "candidate_text_recognition"
    assert (staged / "config.pbtxt").read_text() == 'name: "candidate_text_recognition"\n# new\n'
    assert (staged / "configs" / "gpu.pbtxt").read_text() == 'name: "candidate_text_recognition"\n# new gpu\n'
    (version,) = releases.versions_of(staged)
    assert abs(version - time.time()) < 60
    assert (staged / str(version) / "model.onnx").read_text() == "new text_recognition"
    assert releases.candidates_of(served) == ["candidate_text_detection", "candidate_text_recognition"]
    assert releases.models_of(served) == ["text_detection", "text_recognition"]
    releases.unstage(served)
    assert contents(served) == before
    assert releases.candidates_of(served) == []


def test_a_candidate_that_gateways_are_told_of_says_how_much_it_reads(served, source):
    releases.stage(source, served, share=2.5)
    for config in ("config.pbtxt", "configs/gpu.pbtxt"):
        text = (served / "candidate_text_recognition" / config).read_text()
        assert text.endswith('parameters { key: "share" value { string_value: "2.5" } }\n')


def test_a_release_is_a_further_version_and_the_old_one_stays_beside_it(served, source):
    assert releases.adopt(source, served) == ["text_detection", "text_recognition"]
    assert releases.summary(served) == [("text_detection", [1, 2]), ("text_recognition", [1, 2])]
    assert (served / "text_detection" / "1" / "model.onnx").read_text() == "old text_detection"
    assert (served / "text_detection" / "2" / "model.onnx").read_text() == "new text_detection"
    assert "# new" in (served / "text_detection" / "config.pbtxt").read_text()


def test_going_back_leaves_everything_as_it_was(served, source):
    before = contents(served)
    releases.adopt(source, served)
    assert releases.go_back(served) == ["text_detection", "text_recognition"]
    assert contents(served) == before
    releases.settle(served, forget=True)
    with pytest.raises(RepositoryError, match="nothing to go back to"):
        releases.go_back(served)


def test_one_goes_back_to_the_release_before_the_last(served, source):
    releases.adopt(source, served)
    releases.settle(served, forget=False)
    between = contents(served)
    releases.adopt(source, served)
    assert releases.summary(served)[0] == ("text_detection", [1, 2, 3])
    releases.go_back(served)
    assert contents(served) == between


def test_a_switch_is_unfinished_until_it_is_settled_and_may_be_taken_back_any_number_of_times(served, source):
    before = contents(served)
    assert releases.unfinished(served) == ""
    releases.adopt(source, served)
    assert releases.unfinished(served) == "deploy"
    (served / "text_recognition" / "2" / "model.onnx").unlink()  # as if it had been interrupted while copying
    for _ in range(2):
        releases.go_back(served)
        assert releases.unfinished(served) == "rollback"
        assert contents(served) == before
    releases.settle(served, forget=True)
    assert releases.unfinished(served) == ""
    assert list(served.parent.glob(".served*")) == []


def test_the_source_stays_as_it_was(served, source):
    before = contents(source)
    releases.stage(source, served)
    releases.unstage(served)
    releases.adopt(source, served)
    releases.go_back(served)
    assert contents(source) == before


@pytest.mark.parametrize("names", [("text_detection",), ("text_detection", "text_recognition_w320_r8")])
def test_other_models_are_no_release(tmp_path, served, names):
    with pytest.raises(RepositoryError, match="other models"):
        releases.stage(repository(tmp_path / "other", names=names), served)


def test_a_folder_without_models_is_refused(tmp_path, served):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(RepositoryError, match="no models"):
        releases.stage(empty, served)
