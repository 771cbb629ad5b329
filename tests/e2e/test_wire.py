"""How many bytes go to Triton and come back for a page, with edited and with published models."""

import pytest
from gateways import connected, pipeline_on
from prometheus_client import REGISTRY
from rendered_pages import lines_of_receipt, png, receipt
from served_models import EDITED, ORIGINAL

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def exchanged(model, direction):
    """Bytes of the messages so far, counted where they are handed to gRPC."""
    labels = {"model": model, "direction": direction}
    return REGISTRY.get_sample_value("ocr_backend_wire_bytes_total", labels) or 0.0


async def read_receipt(triton, names):
    """The text of 48 lines, and the bytes of the requests and the answers to recognise them."""
    before = [exchanged(names.recognition, direction) for direction in ("request", "response")]
    async with connected(triton, names) as backend, pipeline_on(backend) as read:
        page = await read(png(receipt()))
    after = [exchanged(names.recognition, direction) for direction in ("request", "response")]
    return page.text, *(late - early for late, early in zip(after, before, strict=True))


async def test_edited_models_take_a_third_and_answer_a_five_hundredth_of_the_bytes_for_the_same_text(triton, measured):
    text, request, answer = await read_receipt(triton, EDITED)
    original_text, original_request, original_answer = await read_receipt(triton, ORIGINAL)
    for what, edited, original in (("requests", request, original_request), ("answers", answer, original_answer)):
        measured(f"wire, 48 lines: {what} {edited:,.0f} bytes instead of {original:,.0f}, 1/{original / edited:,.1f}")
    assert text == original_text
    assert text.splitlines() == lines_of_receipt()
    assert request < original_request / 3
    assert answer < original_answer / 500
