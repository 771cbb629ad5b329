import pytest

from gateway.ocr.elements import Transcription
from gateway.ocr.options import RecognitionOptions
from gateway.ocr.rereading import (
    Reading,
    choose,
    first_turns,
    is_accepted,
    lacks_page_turn,
    lean,
    next_turn,
    page_turn,
    wants_whole_image,
    whole_image_wins,
)

OPTIONS = RecognitionOptions()
SINGLE = RecognitionOptions(reread=False)


def text_of(score, text="text"):
    return Transcription(text if score else "", score)


def reading(turned, score, text="text"):
    return Reading(turned, text_of(score, text))


@pytest.mark.parametrize(
    ("size", "turns"),
    [
        ((48, 48), (0,)),
        ((30, 400), (0,)),
        ((149, 100), (0,)),
        ((150, 100), (270, 0)),
        ((400, 30), (270, 0)),
    ],
)
def test_a_tall_crop_is_read_lying_and_as_it_stands(size, turns):
    assert first_turns(size, OPTIONS) == turns


def test_without_second_readings_a_tall_crop_is_read_lying_only():
    assert first_turns((400, 30), SINGLE) == (270,)
    assert first_turns((30, 400), SINGLE) == (0,)


@pytest.mark.parametrize(
    ("readings", "turned"),
    [
        ([reading(0, 0.0)], 180),
        ([reading(0, 0.84)], 180),
        ([reading(0, 0.85)], None),
        ([reading(0, 0.99)], None),
        ([reading(0, 0.99, "  ")], 180),  # sure of nothing but spaces
        ([reading(0, 0.3), reading(180, 0.2)], None),  # tried already
        ([reading(270, 0.99), reading(0, 0.2)], None),
        ([reading(270, 0.2), reading(0, 0.99)], None),
        ([reading(270, 0.4), reading(0, 0.2)], 90),
        ([reading(270, 0.2), reading(0, 0.4)], 180),
    ],
)
def test_a_doubtful_line_is_read_again_upside_down(readings, turned):
    assert next_turn(readings, OPTIONS) == turned


def test_without_second_readings_nothing_is_read_again():
    assert next_turn([reading(0, 0.2)], SINGLE) is None


@pytest.mark.parametrize(
    ("readings", "turned"),
    [
        ([reading(0, 0.0)], 0),
        ([reading(0, 0.5), reading(180, 0.95)], 180),
        ([reading(0, 0.5), reading(180, 0.59)], 0),  # better, but not clearly
        ([reading(0, 0.5), reading(180, 0.5)], 0),
        ([reading(0, 0.0), reading(180, 0.0)], 0),  # noise reads as nothing either way
        ([reading(0, 0.0), reading(180, 0.3)], 180),
        ([reading(0, 0.5), reading(180, 0.99, " ")], 0),
        ([reading(270, 0.7), reading(0, 0.71)], 0),  # between the first ones the better wins
        ([reading(270, 0.7), reading(0, 0.7)], 270),
        ([reading(270, 0.5), reading(0, 0.3), reading(90, 0.9)], 90),
    ],
)
def test_a_line_leans_to_the_second_reading_if_it_is_clearly_better(readings, turned):
    assert lean(readings, OPTIONS).turned == turned


@pytest.mark.parametrize(
    ("readings", "page", "turned"),
    [
        ([reading(0, 0.3), reading(180, 0.84)], 0, 0),  # noise on an upright page
        ([reading(0, 0.3), reading(180, 0.85)], 0, 180),
        ([reading(0, 0.3), reading(180, 0.84)], 180, 180),  # what the page says needs no proof
        ([reading(0, 0.84), reading(180, 0.3)], 180, 180),
        ([reading(270, 0.2), reading(0, 0.3), reading(180, 0.84)], 0, 0),
        ([reading(0, 0.3, "d"), reading(180, 0.99, "p")], 0, 0),  # "d" makes sense upside down
        ([reading(0, 0.3, "69"), reading(180, 0.99, "69")], 0, 0),
        ([reading(0, 0.3, "3d"), reading(180, 0.99, "pE")], 0, 180),
    ],
)
def test_a_reading_that_tells_nothing_does_not_contradict_the_page(readings, page, turned):
    assert choose(readings, OPTIONS, page=page).turned == turned


@pytest.mark.parametrize(
    ("text", "score", "accepted"),
    [("", 0.0, False), (" ", 0.9, False), ("a", 0.49, False), ("a", 0.5, True), ("a", 1.0, True)],
)
def test_a_line_is_accepted_if_it_says_something_and_scores_enough(text, score, accepted):
    assert is_accepted(Transcription(text, score), OPTIONS) is accepted


def test_a_line_that_says_nothing_is_not_accepted_even_when_every_score_is():
    assert not is_accepted(Transcription("", 0.0), RecognitionOptions(min_score=0.0))


@pytest.mark.parametrize(
    ("chosen", "turned"),
    [
        ([], 0),
        ([reading(180, 0.2)], 0),  # noise has no vote
        ([reading(180, 0.9)], 180),
        ([reading(180, 0.9), reading(0, 0.9)], 0),  # half is not most
        ([reading(90, 0.9), reading(180, 0.9), reading(270, 0.9)], 0),
        ([reading(270, 0.9, "a long column"), reading(0, 0.9, "1"), reading(0, 0.9, "2")], 270),
    ],
)
def test_a_page_is_turned_as_most_of_its_accepted_characters_were(chosen, turned):
    assert page_turn(chosen, OPTIONS) == turned


@pytest.mark.parametrize(
    ("readings", "page", "lacks"),
    [
        ([reading(270, 0.9)], 0, False),  # an upright page asks for nothing
        ([reading(0, 1.0)], 180, True),
        ([reading(0, 1.0)], 90, True),
        ([reading(270, 0.9), reading(0, 0.2)], 270, False),
        ([reading(0, 0.8), reading(180, 0.7)], 180, False),
    ],
)
def test_on_a_turned_page_every_line_is_read_the_pages_way_up(readings, page, lacks):
    assert lacks_page_turn(readings, page, OPTIONS) is lacks


def test_without_second_readings_the_page_is_not_turned():
    assert not lacks_page_turn([reading(0, 1.0)], 180, SINGLE)


@pytest.mark.parametrize(
    ("readings", "page", "turned"),
    [
        ([reading(0, 1.0), reading(180, 0.95)], 180, 180),  # "W" and "M" are both sure; the page knows
        ([reading(0, 1.0), reading(180, 0.85)], 180, 0),  # but this line stands otherwise
        ([reading(270, 1.0), reading(0, 0.1), reading(90, 0.95)], 90, 90),
        ([reading(0, 0.9), reading(90, 0.8)], 90, 0),  # across the page, as vertical text of an upright one: no gain
        ([reading(0, 0.9), reading(270, 0.8)], 270, 0),  # vertical Chinese has upright titles
        ([reading(0, 0.7), reading(270, 0.8)], 270, 270),
    ],
)
def test_the_page_s_way_up_decides_between_opposite_readings(readings, page, turned):
    assert choose(readings, OPTIONS, page=page).turned == turned


@pytest.mark.parametrize(
    ("size", "accepted", "wanted"),
    [
        ((128, 400), 0, True),
        ((128, 400), 1, True),
        ((128, 400), 2, False),
        ((129, 400), 0, False),
        ((100, 99), 0, False),
        ((100, 100), 1, True),
    ],
)
def test_a_thin_image_with_next_to_no_lines_is_read_whole(size, accepted, wanted):
    assert wants_whole_image(size, accepted, OPTIONS) is wanted


def test_without_second_readings_no_image_is_read_whole():
    assert not wants_whole_image((40, 400), 0, SINGLE)


@pytest.mark.parametrize(
    ("whole", "accepted", "wins"),
    [
        (text_of(0.0), [], False),
        (text_of(0.4), [], False),
        (text_of(0.6), [], True),
        (text_of(0.6), [text_of(0.6)], False),
        (text_of(0.9), [text_of(0.6)], True),
    ],
)
def test_the_whole_image_wins_if_it_is_accepted_and_better(whole, accepted, wins):
    assert whole_image_wins(whole, accepted, OPTIONS) is wins
