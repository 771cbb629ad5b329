import threading

import pytest
from web_fakes import services_with

from gateway.deadline import Deadline
from gateway.documents import Order
from gateway.ocr.options import PageOptions
from gateway.ocr.page_ranges import PageRanges
from gateway.web.orders import built


@pytest.mark.parametrize(("level", "on_the_loop"), [("line", True), ("word", False), ("char", False)])
async def test_answers_with_words_are_built_off_the_event_loop(level, on_the_loop):
    order = Order((b"data",), PageRanges.parse("1-"), PageOptions(level=level), 1, Deadline.after(60))
    thread = await built(threading.current_thread, order, order.deadline, services_with())
    assert (thread is threading.main_thread()) is on_the_loop
