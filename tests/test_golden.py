import pytest

from gateway.rollout.golden import KNOWN, Golden, Marks, Reading, mark, read_folder, refusal

PICTURE = Golden("a", b"", "twelve chars")


def test_without_a_folder_there_is_the_known_picture():
    assert read_folder(None) == [KNOWN]


def test_a_picture_of_a_folder_has_its_text_beside_it(tmp_path):
    (tmp_path / "page.png").write_bytes(b"png")
    (tmp_path / "page.txt").write_text("its text\n")
    assert read_folder(tmp_path) == [KNOWN, Golden("page.png", b"png", "its text")]


def test_a_picture_without_its_text_is_named(tmp_path):
    (tmp_path / "page.png").write_bytes(b"png")
    with pytest.raises(ValueError, match=r"page\.png"):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    ("text", "accuracy"),
    [("twelve chars", 1.0), ("", 0.0), ("twelve char", 11 / 12), ("twelve charsss", 12 / 14), ("ÄÖÜ", 0.0)],
)
def test_accuracy_is_the_share_of_characters_that_are_right(text, accuracy):
    assert mark([PICTURE], [Reading(text, 0.9)]).accuracy == pytest.approx(accuracy)


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (Marks(0.98, 0.95), ""),
        (Marks(0.976, 0.91), ""),
        (Marks(1.0, 0.99), ""),
        (Marks(0.97, 0.95), "it reads 97.0% of the characters rightly, those that serve 98.0%"),
        (Marks(0.0, 0.0), "it reads 0.0% of the characters rightly, those that serve 98.0%"),
        (Marks(0.98, 0.85), "its lines score 0.85 in the mean, those of the models that serve 0.95"),
    ],
)
def test_a_candidate_that_reads_worse_or_is_less_sure_is_refused(candidate, reason):
    assert refusal(Marks(0.98, 0.95), candidate) == reason
