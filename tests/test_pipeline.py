import asyncio
import dataclasses
import io
import time

import cv2
import numpy as np
import pytest
from fake_models import Bar, FakeModels, picture, read
from PIL import Image

from gateway.deadline import Deadline
from gateway.errors import (
    BackendUnavailable,
    DeadlineExceeded,
    InferenceFailed,
    InferenceTimeout,
    InvalidRequest,
    OutOfMemory,
    Overloaded,
    UnreadableImage,
)
from gateway.metrics import StageTimes
from gateway.ocr.areas import Areas
from gateway.ocr.options import DocumentOptions, RecognitionOptions
from tests.ocr.made_pdf import pdf_with

FIRST, SECOND, THIRD = Bar(40, 40, 200, 24, "a"), Bar(40, 120, 120, 24, "b"), Bar(40, 200, 300, 24, "c")


@pytest.fixture
def models():
    return FakeModels()


@pytest.mark.parametrize(
    ("bars", "text"),
    [
        ([], ""),
        ([FIRST], "a"),
        ([THIRD, FIRST, SECOND], "a\nb\nc"),
    ],
)
async def test_a_page_has_its_lines_in_reading_order(models, bars, text):
    page = await read(models, picture(*bars))
    assert (page.width, page.height, page.text) == (640, 400, text)
    assert page.warnings == ()


async def test_a_line_has_its_place_its_scores_and_its_turn(models):
    (line,) = (await read(models, picture(FIRST))).lines
    np.testing.assert_allclose(line.region.quad.mean(axis=0), (140, 52), atol=1)
    assert 0.9 < line.region.score <= 1
    assert line.transcription.score == pytest.approx(0.99)
    assert line.turned == 0


async def test_an_image_without_text_costs_one_call(models):
    await read(models, picture())
    assert len(models.timeouts) == 1


async def test_without_detection_the_image_is_one_line(models):
    page = await read(models, picture(Bar(20, 10, 280, 28, "d"), height=48, width=320), detect=False)
    (line,) = page.lines
    assert page.text == "d"
    assert line.region.quad.tolist() == [[0, 0], [320, 0], [320, 48], [0, 48]]
    assert models.chunks == [(1, 48, 640, 3)]


async def test_without_recognition_there_are_places_and_no_calls_for_lines(models):
    page = await read(models, picture(SECOND, FIRST), recognize=False)
    assert [line.transcription for line in page.lines] == [None, None]
    assert [line.region.quad[:, 1].mean() < 100 for line in page.lines] == [True, False]
    assert models.chunks == []


async def test_lines_below_the_minimum_are_left_out_which_is_said(models):
    page = await read(models, picture(FIRST, SECOND), recognition=RecognitionOptions(min_score=0.995))
    assert page.lines == ()
    assert [warning.code for warning in page.warnings] == ["low_score_lines"]


async def test_a_line_that_was_read_in_pieces_is_a_line_which_is_said(models):
    options = RecognitionOptions(min_score=0, reread=False)
    page = await read(models, picture(Bar(20, 40, 950, 24, "d"), width=1000), recognition=options)
    assert len(page.lines) == 1
    assert [warning.code for warning in page.warnings] == ["line_split"]


async def test_a_page_upside_down_is_read_as_if_it_were_not(models):
    upright = picture(FIRST, SECOND, THIRD)
    page = await read(models, np.ascontiguousarray(upright[::-1, ::-1]))
    assert page.text == "a\nb\nc"
    assert [line.turned for line in page.lines] == [180, 180, 180]
    top_left = page.lines[0].region.quad[0]
    assert top_left[0] > 550
    assert top_left[1] > 320


@pytest.mark.parametrize(("turned", "quarters"), [(0, 0), (90, 1), (180, 2), (270, 3)])
async def test_the_orientation_of_a_page_is_found(models, turned, quarters):
    upright = picture(FIRST, SECOND, THIRD)
    page = await read(models, np.ascontiguousarray(np.rot90(upright, quarters)))  # counter-clockwise
    assert (page.text, page.turned, page.skew) == ("a\nb\nc", turned, pytest.approx(0, abs=0.2))


async def test_the_skew_of_a_page_is_found(models):
    level = picture(FIRST, SECOND, THIRD)
    turn = cv2.getRotationMatrix2D((320, 200), -4, 1)  # OpenCV counts counter-clockwise
    askew = cv2.warpAffine(level, turn, (640, 400), borderValue=(255, 255, 255))
    page = await read(models, askew)
    assert (page.turned, page.skew) == (0, pytest.approx(4, abs=0.5))


async def test_lines_near_each_other_are_a_paragraph(models):
    page = await read(models, picture(FIRST, Bar(40, 74, 200, 24, "b"), Bar(40, 300, 200, 24, "c")))
    assert [one.lines for one in page.paragraphs] == [(0, 1), (2,)]


@pytest.mark.parametrize(
    ("areas", "text", "left_out"),
    [
        (Areas.parse("0,0,640,100", ""), "a", 2),
        (Areas.parse("", "0,0,640,100"), "b\nc", 1),
        (Areas.parse("0,300,640,100", ""), "", 3),
    ],
)
async def test_only_lines_in_the_areas_are_read_and_the_others_counted(models, areas, text, left_out):
    page = await read(models, picture(FIRST, SECOND, THIRD), areas=areas)
    assert page.text == text
    [warning] = page.warnings
    assert (warning.code, warning.detail) == (
        "lines_outside",
        f"lines left out because of region or ignore: {left_out}",
    )


async def test_a_thin_image_in_which_nothing_is_found_is_read_whole(models):
    faint = picture(Bar(4, 4, 200, 30, "c"), height=40, width=240)
    faint[..., 0][faint[..., 0] == 255] = 120
    page = await read(models, faint)
    assert [line.region.score for line in page.lines] == [1.0]
    assert page.lines[0].region.quad.tolist() == [[0, 0], [240, 0], [240, 40], [0, 40]]


async def test_stages_are_timed_in_their_order(models):
    times = StageTimes()
    await read(models, picture(FIRST), times=times)
    assert list(times.seconds) == [
        "decode",
        "prepare",
        "detect",
        "regions",
        "crops",
        "recognize",
        "ctc",
        "reread",
        "order",
    ]


async def test_words_are_placed_if_asked_for_and_characters_too(models):
    (plain,) = (await read(models, picture(FIRST))).lines
    (word,) = (await read(models, picture(FIRST), level="word")).lines[0].words
    (other,) = (await read(models, picture(FIRST), level="char")).lines[0].words
    assert plain.words is None
    assert (word.text, word.score, word.characters) == ("a", pytest.approx(0.99), ())
    assert [character.text for character in other.characters] == ["a"]
    np.testing.assert_array_equal(word.quad, other.quad)


async def test_alternatives_come_with_the_characters_if_the_models_give_them(models):
    models.give_alternatives()
    ask = RecognitionOptions(alternatives=2)
    (word,) = (await read(models, picture(FIRST), level="char", recognition=ask)).lines[0].words
    (plain,) = (await read(models, picture(FIRST), level="char")).lines[0].words
    assert [one.text for one in word.characters[0].alternatives] == ["a", "b"]
    assert plain.characters[0].alternatives == ()


async def test_alternatives_that_the_models_do_not_give_are_refused_before_anything_is_read(models):
    with pytest.raises(InvalidRequest, match="the models that are served give none"):
        await read(models, picture(FIRST), level="char", recognition=RecognitionOptions(alternatives=2))
    assert models.chunks == []


async def test_placing_words_is_a_stage(models):
    times = StageTimes()
    await read(models, picture(FIRST), times=times, level="word")
    assert list(times.seconds)[-2:] == ["order", "words"]


async def test_what_of_the_data_is_not_in_the_page_is_said_first(models):
    frames = [Image.fromarray(picture(bar)) for bar in (FIRST, SECOND)]
    data = io.BytesIO()
    frames[0].save(data, "WEBP", lossless=True, save_all=True, append_images=frames[1:])
    page = await read(models, data.getvalue(), recognition=RecognitionOptions(min_score=1.0))
    assert [warning.code for warning in page.warnings][1:] == ["low_score_lines"]


async def test_a_pdfs_own_text_is_taken_where_it_has_some_and_the_rest_is_read(models):
    bar = b"0 0 0.047 rg 20 60 50 12 re f 0 0.235 0.047 rg 20 60 25 12 re f"  # an "a" to the models
    data = pdf_with(b"BT /F 20 Tf 20 150 Td (Invoice) Tj ET " + bar, size=(200, 200))
    options = {name: DocumentOptions(dpi=144, text_layer=name) for name in ("ignore", "prefer", "only")}
    pages = {name: await read(models, data, document=document) for name, document in options.items()}
    sources = {name: [line.source for line in page.lines] for name, page in pages.items()}
    assert sources["prefer"][0] == "text_layer"
    assert pages["prefer"].lines[0].transcription.text == pages["only"].text == "Invoice"
    assert sources["prefer"][1:] == ["ocr"]
    assert pages["prefer"].text == "Invoice\na"
    assert set(sources["ignore"]) == {"ocr"}


async def test_an_image_has_no_text_of_its_own(models):
    page = await read(models, picture(FIRST), document=DocumentOptions(text_layer="only"))
    assert page.lines == ()
    assert [warning.code for warning in page.warnings] == ["no_text_layer"]
    assert models.timeouts == [], "no model is asked"


async def test_data_that_is_no_image_is_refused_before_any_call(models):
    with pytest.raises(UnreadableImage) as raised:
        await read(models, b"\x89PNG\r\n\x1a\n and nothing more")
    assert raised.value.stage == "decode"
    assert models.timeouts == []


@pytest.mark.parametrize(
    ("method", "stage"),
    [("detect", "detect"), ("recognize", "recognize")],
)
async def test_an_error_of_the_models_names_its_stage(models, method, stage):
    models.errors[method] = [InferenceFailed("no")]
    with pytest.raises(InferenceFailed) as raised:
        await read(models, picture(FIRST))
    assert raised.value.stage == stage


async def test_an_error_in_a_second_reading_is_one_of_rereading(models):
    models.errors["recognize"] = [None, OutOfMemory("full")]
    with pytest.raises(OutOfMemory) as raised:
        await read(models, picture(FIRST)[::-1, ::-1])
    assert raised.value.stage in {"recognize", "reread"}


async def test_every_call_gets_what_is_left_of_the_deadline(models):
    await read(models, picture(FIRST), deadline=Deadline.after(30))
    assert len(models.timeouts) == 2
    assert 20 < models.timeouts[1] < models.timeouts[0] < 30


class LateModels(FakeModels):
    """Does not answer in time; the last answer to another request was so long ago by then."""

    def __init__(self, silent_s):
        super().__init__()
        self._silent_s = silent_s

    async def detect(self, image, *, timeout_s):
        await asyncio.sleep(timeout_s + 0.01)
        if self._silent_s is not None:
            self.last_answer_at = time.monotonic() - self._silent_s
        raise InferenceTimeout("no answer in time")


@pytest.mark.parametrize(
    ("from_client", "silent_s", "error"),
    [
        (True, None, InferenceTimeout),
        (True, 0, DeadlineExceeded),
        (False, 0, InferenceTimeout),
        (True, 0.35, InferenceTimeout),
    ],
    ids=["nothing heard", "client's own, models answering", "server's own, models answering", "models fell silent"],
)
async def test_only_a_clients_own_deadline_while_the_models_answer_is_the_clients_affair(from_client, silent_s, error):
    deadline = Deadline.after(0.5, from_client=from_client)
    with pytest.raises(error) as raised:
        await read(LateModels(silent_s), picture(FIRST), deadline=deadline)
    assert raised.value.stage == "detect"


async def test_a_timeout_before_the_deadline_is_the_models_affair_even_if_they_answer_others():
    class Impatient(FakeModels):
        async def detect(self, image, *, timeout_s):
            self.last_answer_at = time.monotonic()
            raise InferenceTimeout("no sign of life")

    with pytest.raises(InferenceTimeout):
        await read(Impatient(), picture(FIRST), deadline=Deadline.after(60, from_client=True))


@pytest.mark.parametrize(("from_client", "error"), [(True, DeadlineExceeded), (False, Overloaded)])
async def test_a_deadline_that_passes_outside_of_the_models_is_no_fault_of_theirs(models, from_client, error):
    deadline = dataclasses.replace(Deadline.after(60, from_client=from_client), at=time.monotonic() - 1)
    with pytest.raises(error) as raised:
        await read(models, picture(FIRST), deadline=deadline)
    assert raised.value.stage == "decode"


class Exchanged(FakeModels):
    """Its charset becomes another one while lines are read, so many times; it fails such calls, or does not notice."""

    def __init__(self, times, *, notices):
        super().__init__()
        self.times, self.notices = times, notices

    async def recognize(self, rows, *, timeout_s, alternatives=False):
        steps = await super().recognize(rows, timeout_s=timeout_s, alternatives=alternatives)
        if self.times:
            self.times -= 1
            charset = ("", *self.contract.recognition.charset[1:-1][::-1], " ")
            recognition = dataclasses.replace(self.contract.recognition, charset=charset)
            self.contract = dataclasses.replace(self.contract, recognition=recognition)
            if self.notices:
                raise BackendUnavailable("text_recognition: was replaced by a model that reads otherwise")
        return steps


@pytest.mark.parametrize("notices", [True, False])
@pytest.mark.parametrize(("times", "text"), [(0, "a"), (1, "d"), (2, "a")])
async def test_a_page_whose_models_are_exchanged_is_read_anew_by_those_that_came(times, text, notices):
    page = await read(Exchanged(times, notices=notices), picture(FIRST))
    assert page.text == text


@pytest.mark.parametrize("notices", [True, False])
async def test_a_page_whose_models_are_exchanged_again_and_again_is_refused(notices):
    with pytest.raises(BackendUnavailable):
        await read(Exchanged(3, notices=notices), picture(FIRST))


async def test_a_page_whose_models_failed_and_were_not_exchanged_is_not_read_anew(models):
    models.errors["recognize"] = [BackendUnavailable("broken")]
    with pytest.raises(BackendUnavailable, match="broken"):
        await read(models, picture(FIRST))
