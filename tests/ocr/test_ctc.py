from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.arrays import LineSteps, StepAlternatives
from gateway.ocr.ctc import decode, mean_score
from gateway.ocr.elements import Alternative, Character, Transcription

CHARSET = ("", *"abc19", "é", "中", "ﬁ", " ")
BLANK = "-"


def steps_of(path, *, probability=None, spaces=None):
    """Steps whose best classes spell `path`, where "-" is the blank; `spaces` maps steps to P(space)."""
    classes = [0 if text == BLANK else CHARSET.index(text) for text in path]
    space_probability = np.zeros(len(path), np.float32)
    for step, value in (spaces or {}).items():
        space_probability[step] = value
    return LineSteps(
        class_index=np.array(classes, np.int32),
        probability=np.array(probability if probability is not None else [0.9] * len(path), np.float32),
        space_probability=space_probability,
    )


def read(path, *, crop_width=320, threshold=0.1, **steps) -> Transcription:
    return decode(steps_of(path, **steps), CHARSET, crop_width=crop_width, space_probability=threshold)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("", ""),
        ("-", ""),
        ("----", ""),
        ("a", "a"),
        ("aaa", "a"),
        ("a-a", "aa"),
        ("-aa--b-", "ab"),
        ("aab", "ab"),
        ("a-- --b", "a b"),
        (" a ", " a "),
        ("中-中é", "中中é"),
    ],
)
def test_runs_collapse_and_blanks_vanish(path, text):
    assert read(path).text == text


def test_a_class_may_write_more_than_one_letter():
    assert decode(steps_of("a"), ("", "ch"), crop_width=8, space_probability=0.1).text == "ch"


def test_no_text_scores_nothing():
    assert read("---") == Transcription(text="", score=0.0, characters=(), steps=40)


def test_a_character_scores_the_first_step_of_its_run():
    characters = read("-aab", probability=[0.99, 0.5, 0.9, 0.75]).characters
    assert [character.score for character in characters] == [0.5, 0.75]


def test_a_line_scores_the_mean_of_its_characters():
    assert read("-aab", probability=[0.99, 0.5, 0.9, 0.75]).score == 0.625


def test_a_character_stands_at_the_middle_of_its_run():
    characters = read("-aabbb-c").characters
    assert [(character.text, character.step) for character in characters] == [("a", 1.5), ("b", 4.0), ("c", 7.0)]


def test_steps_are_the_width_of_the_crop_and_not_of_its_padding():
    assert read("-" * 40, crop_width=100).steps == 12.5


def test_a_character_written_over_the_padding_is_kept():
    assert read("a--b", crop_width=20).text == "ab"


@pytest.mark.parametrize(
    ("path", "spaces", "text"),
    [
        ("a--b", {}, "ab"),
        ("a--b", {1: 0.05}, "ab"),
        ("a--b", {1: 0.1}, "a b"),
        ("a--b", {2: 0.4}, "a b"),
        ("a-1-9", {1: 0.4, 3: 0.4}, "a 1 9"),
        ("a- -b", {1: 0.4, 2: 0.9, 3: 0.4}, "a b"),  # there is a space already
        ("aab", {0: 0.4, 1: 0.4, 2: 0.4}, "ab"),  # not between the two, but in them
        ("-a-", {0: 0.4, 2: 0.4}, "a"),  # nothing on the other side
        ("---", {1: 0.4}, ""),
        ("中--中", {1: 0.4}, "中中"),
        ("a--中", {1: 0.4}, "a中"),
        ("é--a", {1: 0.4}, "éa"),
    ],
)
def test_a_nearly_written_space_between_ascii_letters_or_digits_is_put_back(path, spaces, text):
    assert read(path, spaces=spaces).text == text


def test_a_space_put_back_says_so_and_stands_where_it_was_likeliest():
    space = read("a---b", spaces={1: 0.25, 2: 0.5, 3: 0.125}).characters[1]
    assert space == Character(" ", 0.5, 2.0, inferred=True)


def test_a_space_put_back_leaves_the_score_alone():
    assert read("a---b", spaces={2: 0.25}).score == pytest.approx(0.9)


def test_the_threshold_for_spaces_is_the_callers():
    assert read("a--b", spaces={1: 0.4}, threshold=0.5).text == "ab"


def test_the_mean_score_of_nothing_is_zero():
    assert mean_score([Character(" ", 0.7, 0, inferred=True)]) == 0.0


TEXTS = st.text(alphabet="abc19é中 ", max_size=30)


@given(TEXTS)
def test_a_text_with_a_blank_between_all_characters_decodes_to_itself(text):
    assert read(BLANK.join(text)).text == text


@given(TEXTS, st.data())
def test_repeated_steps_and_more_blanks_never_change_the_text(text, data):
    counts = st.integers(1, 3)
    path = "".join(character * data.draw(counts) + BLANK * data.draw(counts) for character in BLANK * bool(text) + text)
    assert read(path).text == text


@given(st.text(alphabet="-ab1中 ", max_size=40), st.data())
def test_only_inferred_spaces_are_added_and_the_parts_agree_with_the_whole(path, data):
    spaces = data.draw(st.dictionaries(st.integers(0, max(0, len(path) - 1)), st.floats(0, 1, width=32)))
    plain, line = read(path), read(path, spaces=spaces if path else {})
    assert tuple(character for character in line.characters if not character.inferred) == plain.characters
    assert line.score == plain.score
    assert line.text == "".join(character.text for character in line.characters)
    steps = [character.step for character in line.characters]
    assert steps == sorted(steps)


def with_alternatives(steps, *best):
    """The same steps; `best` has for each its classes and their probabilities, the top one first."""
    classes = [[0 if text == BLANK else CHARSET.index(text) for text, _ in one] for one in best]
    scores = [[score for _, score in one] for one in best]
    return replace(steps, alternatives=StepAlternatives(np.array(classes, np.int32), np.array(scores, np.float32)))


SURE_LATER = with_alternatives(
    steps_of("aa-b", probability=[0.5, 0.75, 0.9, 0.625]),
    [("a", 0.5), ("c", 0.25), (BLANK, 0.125)],
    [("a", 0.75), (BLANK, 0.125), ("1", 0.0625)],
    [(BLANK, 0.875), ("a", 0.0625), ("b", 0.03125)],
    [("b", 0.625), ("9", 0.25), ("c", 0.125)],
)


def alternatives_of(steps, count):
    line = decode(steps, CHARSET, crop_width=32, space_probability=0.1, alternatives=count)
    return [[(one.text, one.score) for one in character.alternatives] for character in line.characters]


def test_a_characters_alternatives_are_those_of_its_surest_step_without_the_blank():
    assert alternatives_of(SURE_LATER, 3) == [
        [("a", 0.75), ("1", 0.0625)],
        [("b", 0.625), ("9", 0.25), ("c", 0.125)],
    ]


def test_the_blank_leaves_its_place_to_the_next_alternative():
    assert alternatives_of(SURE_LATER, 2) == [[("a", 0.75), ("1", 0.0625)], [("b", 0.625), ("9", 0.25)]]


def test_alternatives_change_nothing_else():
    choices = {"crop_width": 32, "space_probability": 0.1}
    plain = decode(replace(SURE_LATER, alternatives=None), CHARSET, **choices)
    line = decode(SURE_LATER, CHARSET, alternatives=2, **choices)
    assert replace(line, characters=tuple(one._replace(alternatives=()) for one in line.characters)) == plain
    assert decode(SURE_LATER, CHARSET, **choices) == plain


def test_a_space_put_back_has_no_alternatives():
    steps = with_alternatives(steps_of("a-b", spaces={1: 0.4}), [("a", 0.9)], [(BLANK, 0.5)], [("b", 0.9)])
    characters = decode(steps, CHARSET, crop_width=24, space_probability=0.1, alternatives=1).characters
    assert [character.alternatives for character in characters] == [
        (Alternative("a", pytest.approx(0.9)),),
        (),
        (Alternative("b", pytest.approx(0.9)),),
    ]
