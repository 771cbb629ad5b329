"""Pages to write in every format: lines in both directions, words, characters, awkward texts."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from gateway.formats.format import About
from gateway.ocr.elements import (
    Page,
    Paragraph,
    Picture,
    PlacedCharacter,
    Space,
    TextLine,
    TextRegion,
    Transcription,
    Word,
)

ABOUT = About("ocr-gateway 1.2.3", "ppocrv6-small", datetime(2026, 11, 30, 12, 30, tzinfo=UTC), 200)


def quad(left, top, right, bottom):
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)


def upside_down(left, top, right, bottom):
    return np.roll(quad(left, top, right, bottom), 2, axis=0)


def downwards(left, top, right, bottom):
    """The quad of a column of characters, which is read from top to bottom."""
    return np.array([[right, top], [right, bottom], [left, bottom], [left, top]], np.float32)


def inclined(left, top, right, bottom, degrees):
    """The quad of text that was turned clockwise around the middle of a square page of 200 pixels."""
    turn = np.deg2rad(degrees)
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return ((quad(left, top, right, bottom) - 100) @ rotation + 100).astype(np.float32)


def word(text, place, score=0.9, space=Space.NONE, *, characters=False):
    placed = ()
    if characters:
        ends = np.linspace(0, 1, len(text) + 1)[:, None]
        tops, bottoms = place[0] + ends * (place[1] - place[0]), place[3] + ends * (place[2] - place[3])
        quads = np.stack([tops[:-1], tops[1:], bottoms[1:], bottoms[:-1]], axis=1).astype(np.float32)
        placed = tuple(PlacedCharacter(one, its, score) for one, its in zip(text, quads, strict=True))
    return Word(text, place, score, space, placed)


def line(place, *words, score=0.8, words_known=True, turned=0):
    text = "".join((" " if one.space_before is not Space.NONE else "") + one.text for one in words)
    region = TextRegion(place, place, 0.9)
    return TextLine(region, Transcription(text, score), turned, words=words if words_known else None)


def two_words(*, characters=False):
    first = word("Hello,", quad(10, 20, 70, 40), 0.95, characters=characters)
    return line(quad(10, 20, 130, 40), first, word("<wörld>", quad(80, 20, 130, 40), 0.5, Space.READ))


CHINESE = line(quad(10, 60, 70, 80), word("你", quad(10, 60, 30, 80)), word("好。", quad(32, 60, 70, 80)))
TURNED = line(
    upside_down(100, 60, 190, 80),
    word("upside", upside_down(140, 60, 190, 80)),
    word("down", upside_down(100, 60, 135, 80), space=Space.INFERRED),
)
LAYER = line(quad(10, 90, 90, 98), word("own text", quad(10, 90, 90, 98)), words_known=False)
UNREAD = TextLine(TextRegion(quad(1, 1, 5, 5), quad(1, 1, 5, 5), 0.9))
COLUMN = line(
    downwards(175, 5, 195, 55), word("直", downwards(175, 5, 195, 28)), word("书", downwards(175, 32, 195, 55))
)


def page(*lines, width=200, height=100):
    image = np.full((height, width, 3), 240, np.uint8)
    return Page(Picture("PNG", "RGB", width, height), width, height, lines, image=image)


FULL = page(two_words(characters=True), CHINESE, TURNED, LAYER, UNREAD)
EMPTY = page()
PARAGRAPHS = replace(
    page(two_words(), UNREAD, CHINESE, TURNED),
    paragraphs=(Paragraph((0, 1, 2), quad(10, 20, 130, 80)), Paragraph((3,), upside_down(100, 60, 190, 80))),
)


def written(chosen, *pages):
    """The answer of these pages in a format."""
    writer = chosen.begin(ABOUT)
    for number, one in enumerate(pages, 1):
        writer.add(one, number)
    return writer.finish()
