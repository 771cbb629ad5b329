# ruff: noqa: RUF001 - Chinese punctuation
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.ocr.elements import Character, Space
from gateway.ocr.word_breaks import split_words


def characters(text, inferred=()):
    return [Character(letter, 0.9, float(step), step in inferred) for step, letter in enumerate(text)]


def words(text):
    return ["".join(one.text for one in word.characters) for word in split_words(characters(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  ", []),
        ("a", ["a"]),
        ("two words", ["two", "words"]),
        (" around  both ", ["around", "both"]),
        ("it's (lazy), no?", ["it's", "(lazy),", "no?"]),
        ("EUR 1,234.50 / 5%", ["EUR", "1,234.50", "/", "5%"]),
        ("naïve Straße ёлка", ["naïve", "Straße", "ёлка"]),
        ("中文", ["中", "文"]),
        ("你好，世界！", ["你", "好，", "世", "界！"]),
        ("《书》说：“好”。", ["《书》", "说：", "“好”。"]),
        ("共10元", ["共", "10", "元"]),
        ("用Python写", ["用", "Python", "写"]),
        ("好，Hello", ["好，", "Hello"]),
        ("Hello（见下）", ["Hello", "（见", "下）"]),
        ("カタカナ", ["カ", "タ", "カ", "ナ"]),
        ("か\u3099き", ["か\u3099", "き"]),  # the mark belongs to its kana
        ("한국어 단어", ["한국어", "단어"]),
        ("ＡＢ１２", ["ＡＢ１２"]),  # letters of the full width are letters
    ],
)
def test_words_are_what_a_reader_would_mark(text, expected):
    assert words(text) == expected


def test_a_word_says_what_parts_it_from_the_one_before():
    found = split_words(characters("ab cd中 e", inferred={2}))
    assert [word.space_before for word in found] == [Space.NONE, Space.INFERRED, Space.NONE, Space.READ]


def test_of_several_spaces_one_that_was_read_counts():
    assert split_words(characters("a  b", inferred={1}))[1].space_before is Space.READ
    assert split_words(characters("a  b", inferred={2}))[1].space_before is Space.READ


@given(st.text(alphabet="ab1,(' é中文，《》かー한 ", max_size=30))
def test_every_character_that_is_no_space_is_in_exactly_one_word(text):
    line = characters(text)
    assert [one for word in split_words(line) for one in word.characters] == [one for one in line if one.text != " "]
    assert all(word.characters for word in split_words(line))
