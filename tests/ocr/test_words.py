import cv2
import numpy as np
import pytest

from gateway.ocr.elements import Character, PlacedCharacter, Space, TextLine, TextRegion, Transcription
from gateway.ocr.geometry import rectangle_quads, slice_quad, turn_quad
from gateway.ocr.words import with_words

STEPS = 30
LETTERS = ((0.1, 0.2), (0.22, 0.32), (0.6, 0.8))
"""Where the letters of "ab c" stand in the crop, as fractions of its width."""


def rectangle(width, height, degrees):
    center, size = np.array((400, 300), np.float32), np.array((width, height), np.float32)
    return rectangle_quads(center, size, np.array(degrees, np.float32))


def transcription(score_of_b=0.5):
    def character(text, score, place, inferred=False):
        return Character(text, score, place * STEPS - 0.25, inferred)

    characters = (
        character("a", 1.0, 0.15),
        character("b", score_of_b, 0.27),
        character(" ", 0.2, 0.45, inferred=True),
        character("c", 0.75, 0.7),
    )
    return Transcription("ab c", 0.75, characters, STEPS)


def line_and_image(degrees=0, turned=0):
    """A line that is cut 240x48, and reported 236x40, turned by so much before it is read."""
    crop_quad = turn_quad(rectangle(240, 48, degrees), turned)
    quad = turn_quad(rectangle(236, 40, degrees), turned)
    image = np.full((600, 800, 3), 255, np.uint8)
    middle = np.array([crop_quad[0] * 0.7 + crop_quad[3] * 0.3, crop_quad[1] * 0.7 + crop_quad[2] * 0.3])
    lower = np.array([crop_quad[0] * 0.3 + crop_quad[3] * 0.7, crop_quad[1] * 0.3 + crop_quad[2] * 0.7])
    inner = np.array([*middle, lower[1], lower[0]], np.float32)
    for letter in slice_quad(inner, np.array(LETTERS)):
        cv2.fillConvexPoly(image, np.rint(letter - 0.5).astype(np.int32), (0, 0, 0))
    return TextLine(TextRegion(quad, crop_quad, 0.9), transcription(), turned), image


def words_of(degrees=0, turned=0, characters=True):
    line, image = line_and_image(degrees, turned)
    (line,) = with_words(image, [line], line_height=48, characters=characters)
    return line


WAYS = [(0, 0), (7, 0), (-30, 0), (0, 180), (7, 180)]


@pytest.mark.parametrize(("degrees", "turned"), WAYS)
def test_words_and_characters_stand_where_their_ink_is_whichever_way_the_line_runs(degrees, turned):
    line = words_of(degrees, turned)
    # Of the reported quad, which begins and ends two pixels further inside.
    places = (np.array([(0.1, 0.32), (0.6, 0.8)]) * 240 - 2) / 236
    np.testing.assert_allclose([word.quad for word in line.words], slice_quad(line.region.quad, places), atol=2.5)
    found = [character.quad for word in line.words for character in word.characters]
    places = (np.array(LETTERS) * 240 - 2) / 236
    np.testing.assert_allclose(found, slice_quad(line.region.quad, places), atol=2.5)


def test_a_tall_line_is_placed_along_its_long_side():
    line, image = line_and_image(90)
    quad = line.region.crop_quad
    assert np.ptp(quad[:2, 1]) == pytest.approx(240)
    first, second = with_words(image, [line], line_height=48, characters=False)[0].words
    assert (first.quad[:, 1].max() < second.quad[:, 1].min()) == (quad[0, 1] < quad[1, 1])


def test_words_have_text_score_and_the_space_before():
    words = words_of().words
    assert [(word.text, word.score, word.space_before) for word in words] == [
        ("ab", 0.75, Space.NONE),
        ("c", 0.75, Space.INFERRED),
    ]
    assert [(one.text, one.score) for one in words[0].characters] == [("a", 1.0), ("b", 0.5)]
    assert isinstance(words[0].characters[0], PlacedCharacter)


def test_characters_are_given_only_if_wanted():
    assert all(word.characters == () for word in words_of(characters=False).words)


def test_a_line_without_text_has_no_words():
    line, image = line_and_image()
    unread, silent = (
        TextLine(line.region),
        TextLine(line.region, Transcription(" ", 0.9, (Character(" ", 0.9, 1),), 30)),
    )
    assert [one.words for one in with_words(image, [unread, silent], line_height=48, characters=True)] == [(), ()]


def test_nothing_is_placed_outside_the_reported_quad():
    line, image = line_and_image()
    image[:] = 255
    (line,) = with_words(image, [line], line_height=48, characters=True)
    quads = np.array([word.quad for word in line.words])
    low, high = line.region.quad.min(axis=0), line.region.quad.max(axis=0)
    assert (quads >= low - 1e-3).all()
    assert (quads <= high + 1e-3).all()
