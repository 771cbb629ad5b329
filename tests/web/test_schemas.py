import json
from dataclasses import replace

import numpy as np
import pytest
from web_fakes import LINE, MODELS, PAGE, PICTURE, QUAD

from gateway.documents import PageResult
from gateway.ocr.elements import Alternative, Page, PlacedCharacter, Space, TextLine, TextRegion, Transcription, Word
from gateway.web.schemas import OcrOut, json_response, ocr_out


def answer_of(page):
    return ocr_out([], [PageResult(1, 1, page)], MODELS, request_id="r")


def line_of(quad=QUAD, detection_score=0.9, transcription=None):
    region = TextRegion(np.array(quad, np.float32), QUAD, detection_score)
    return answer_of(Page(PICTURE, 10, 10, (TextLine(region, transcription),))).pages[0].lines[0]


def test_what_is_sent_fits_its_own_schema():
    sent = json_response(answer_of(PAGE)).body
    assert OcrOut.model_validate_json(sent, strict=True) == answer_of(PAGE)


@pytest.mark.parametrize(
    ("sent", "shown"), [(12.3, 12.3), (12.34, 12.3), (12.36, 12.4), (-0.26, -0.3), (11999.96, 12000.0)]
)
def test_corners_are_rounded_to_a_tenth_of_a_pixel_in_writing_too(sent, shown):
    quad = line_of([[sent, 0], [1, 0], [1, 1], [0, 1]]).quad
    assert json.dumps(quad[0][0]) == json.dumps(shown)


def test_scores_are_rounded_to_four_digits():
    line = line_of(detection_score=0.123456, transcription=Transcription("a", 0.99999))
    assert (line.detection_score, line.score) == (0.1235, 1.0)


def test_scores_of_numpy_are_numbers():
    line = line_of(detection_score=np.float32(0.123456), transcription=Transcription("a", np.float64(0.5)))
    assert json.loads(json_response(line).body)["detection_score"] == 0.1235


def test_a_line_that_was_not_read_has_neither_text_nor_score():
    line = line_of(transcription=None)
    assert (line.text, line.score) == (None, None)


def test_a_line_that_says_nothing_has_an_empty_text():
    line = line_of(transcription=Transcription("", 0.0))
    assert (line.text, line.score) == ("", 0.0)


def test_a_pages_text_is_its_lines_text():
    answer = answer_of(Page(PICTURE, 10, 10, (LINE, LINE)))
    assert answer.pages[0].text == "hello, wörld\nhello, wörld"


def sent(line):
    return json.loads(json_response(answer_of(Page(PICTURE, 10, 10, (line,)))).body)["pages"][0]["lines"][0]


def test_words_are_sent_only_if_they_were_asked_for():
    assert "words" not in sent(LINE)
    assert sent(replace(LINE, words=()))["words"] == []


def test_words_are_sent_with_their_characters_if_they_have_them():
    character = PlacedCharacter("h", QUAD, 0.98766)
    word = Word("h", QUAD, 0.98766, Space.INFERRED)
    corners = [[10.0, 20.0], [110.3, 20.0], [110.0, 44.0], [10.0, 44.0]]
    plain = {"text": "h", "quad": corners, "score": 0.9877, "space_before": "inferred"}
    line = replace(LINE, words=(word, replace(word, characters=(character,))))
    placed = {**plain, "characters": [{"text": "h", "quad": corners, "score": 0.9877}]}
    assert sent(line)["words"] == [plain, placed]


def test_alternatives_are_sent_with_the_characters_that_have_them():
    character = PlacedCharacter("l", QUAD, 0.5, (Alternative("l", 0.51237), Alternative("I", 0.25)))
    line = replace(LINE, words=(Word("l", QUAD, 0.5, Space.NONE, (character,)),))
    (told,) = sent(line)["words"][0]["characters"]
    assert told["alternatives"] == [{"text": "l", "score": 0.5124}, {"text": "I", "score": 0.25}]
