"""Documents of which a command writes a part."""

import pytest

from loadtest.document import DocumentError, Markers, replace_generated, update_document

MARKERS = Markers.of("figures")
BEGIN, END = MARKERS.begin, MARKERS.end


def test_the_markers_name_the_target():
    assert BEGIN == "<!-- figures: generated from here on by `make figures` -->"


def test_what_people_wrote_around_the_markers_stays():
    text = f"# Figures\n\nBefore.\n\n{BEGIN}\nold\n{END}\n\nAfter.\n"
    assert replace_generated(text, "new\n", MARKERS) == f"# Figures\n\nBefore.\n\n{BEGIN}\n\nnew\n\n{END}\n\nAfter.\n"


def test_replacing_twice_is_replacing_once():
    once = replace_generated(f"{BEGIN}{END}", "new", MARKERS)
    assert replace_generated(once, "new", MARKERS) == once


@pytest.mark.parametrize("text", ["", BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}{BEGIN}{END}", f"{BEGIN}{END}{END}"])
def test_without_one_pair_of_markers_nothing_is_written(text, tmp_path):
    path = tmp_path / "figures.md"
    path.write_text(text)
    with pytest.raises(DocumentError, match="once and in this order"):
        update_document(path, "new", MARKERS)
    assert path.read_text() == text


def test_an_absent_document_is_named(tmp_path):
    with pytest.raises(DocumentError, match=r"no document at .*figures\.md"):
        update_document(tmp_path / "figures.md", "new", MARKERS)


def test_a_document_may_have_parts_of_several_targets():
    other = Markers.of("other")
    text = f"{BEGIN}{END}{other.begin}{other.end}"
    both = replace_generated(replace_generated(text, "one", MARKERS), "two", other)
    assert both == f"{BEGIN}\n\none\n\n{END}{other.begin}\n\ntwo\n\n{other.end}"
