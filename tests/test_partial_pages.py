"""Pages some of whose lines can't be read: refused, or with `partial` given with what there is and what is missing."""

import numpy as np
import pytest
from fake_models import BUCKETS, Bar, FakeModels, picture, read
from prometheus_client import REGISTRY

from gateway.errors import BackendUnavailable, InferenceFailed, OutOfMemory
from gateway.ocr.options import RecognitionOptions

WIDE = BUCKETS[-1]
SHORT, LONG = Bar(20, 20, 40, 20, "a"), Bar(20, 100, 160, 20, "b")
TALL, OVERLONG = Bar(500, 20, 30, 340, "c"), Bar(20, 300, 560, 20, "d")
"""One for the narrow bucket; three that need the wide one: as it is, lying, in pieces."""

PARTIAL = RecognitionOptions(partial=True)
NO_MEMORY = OutOfMemory("text_recognition: the inference server ran out of memory")


class Failing(FakeModels):
    """Models that fail on lines of the wide bucket, at first or always."""

    def __init__(self, error=NO_MEMORY, times=1000):
        super().__init__()
        self.failures = [error] * times

    async def recognize(self, rows, *, timeout_s, alternatives=False):
        if rows.shape[2] == WIDE and self.failures:
            raise self.failures.pop()
        return await super().recognize(rows, timeout_s=timeout_s, alternatives=alternatives)


def summary(page):
    """Text of each line, and the warnings."""
    texts = [line.transcription.text if line.transcription else None for line in page.lines]
    return texts, {warning.code: warning.detail for warning in page.warnings}


def lines_unread(code="out_of_memory"):
    return REGISTRY.get_sample_value("ocr_lines_unread_total", {"code": code}) or 0


async def test_without_a_failure_nothing_is_said():
    page = await read(FakeModels(), picture(SHORT, LONG), recognition=PARTIAL)
    assert summary(page) == (["a", "b"], {})


async def test_a_page_is_refused_if_a_line_does_not_fit_into_memory():
    with pytest.raises(OutOfMemory) as raised:
        await read(Failing(), picture(SHORT, LONG))
    assert raised.value.stage == "recognize"


@pytest.mark.parametrize(
    ("error", "code"), [(NO_MEMORY, "out_of_memory"), (InferenceFailed("the model failed"), "inference_failed")]
)
async def test_a_partial_page_has_the_other_lines_and_says_what_is_missing_where_and_why(error, code):
    before = lines_unread(code)
    page = await read(Failing(error), picture(SHORT, LONG), recognition=PARTIAL)
    assert summary(page) == (
        ["a", None],
        {"lines_unread": f"lines that could not be read, and are given without text: 1 ({code})"},
    )
    assert page.text == "a"
    np.testing.assert_allclose(page.lines[1].region.quad.mean(axis=0), (100, 110), atol=2)
    assert lines_unread(code) == before + 1


async def test_a_partial_page_of_which_nothing_could_be_read_is_refused():
    before = lines_unread()
    with pytest.raises(OutOfMemory) as raised:
        await read(Failing(), picture(LONG), recognition=PARTIAL)
    assert raised.value.stage == "recognize"
    assert lines_unread() == before


async def test_a_server_that_is_away_is_no_reason_for_a_partial_page():
    with pytest.raises(BackendUnavailable):
        await read(Failing(BackendUnavailable("away")), picture(SHORT, LONG), recognition=PARTIAL)


async def test_a_line_with_an_unread_piece_is_unread():
    texts, _ = summary(await read(Failing(), picture(SHORT, OVERLONG), recognition=PARTIAL))
    assert texts == ["a", None]


async def test_a_tall_line_that_could_not_be_read_lying_is_unread():
    """Its upright reading alone is most likely nonsense. Text that mostly runs down is read from the right."""
    before = lines_unread()
    texts, warnings = summary(await read(Failing(), picture(SHORT, TALL), recognition=PARTIAL))
    assert (texts, set(warnings)) == ([None, "a"], {"lines_unread"})
    assert lines_unread() == before + 1


async def test_a_line_keeps_its_first_reading_if_the_second_one_fails_which_is_said():
    models = FakeModels()
    models.errors["recognize"] = [None, NO_MEMORY]
    texts, warnings = summary(await read(models, picture(SHORT)[::-1, ::-1], recognition=PARTIAL))
    assert texts == ["a"]
    assert warnings == {"reread_incomplete": "lines whose second reading failed, so that the first stands: 1"}


async def test_a_thin_image_that_could_not_be_read_whole_keeps_its_lines():
    texts, warnings = summary(await read(Failing(), picture(SHORT, height=60), recognition=PARTIAL))
    assert (texts, set(warnings)) == (["a"], {"reread_incomplete"})


async def test_an_unread_line_is_not_replaced_by_the_whole_image():
    says_nothing = Bar(20, 20, 40, 20, " ")
    lines = picture(says_nothing, Bar(300, 20, 160, 20), height=60)
    texts, warnings = summary(await read(Failing(times=1), lines, recognition=PARTIAL))
    assert (texts, set(warnings)) == ([None], {"lines_unread", "low_score_lines"})
