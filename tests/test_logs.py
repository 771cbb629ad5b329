import errno
import io
import json
import logging
import os
import queue
import threading
import warnings

import pytest
from asgi_correlation_id import correlation_id

from gateway.logs import REQUESTS, HoldBackRepeats, QueueOrDrop, WriteOrCount, logging_to
from gateway.metrics import LOG_LINES, LOG_LINES_LOST

logger = logging.getLogger("gateway.somewhere")


@pytest.fixture(autouse=True)
def _loggers_as_they_were():
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    assert (root.handlers, root.level) == before


def written(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def record(message="m", level=logging.WARNING, created=1000.0):
    made = logging.LogRecord("name", level, "file", 1, message, (), None)
    made.created = created
    return made


def test_a_line_is_one_json_object_with_what_happened_where():
    stream = io.StringIO()
    with logging_to(stream):
        logger.warning("lost %d\nlines", 3, extra={"code": "x"})
    [line] = written(stream)
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "WARNING",
        "logger": "gateway.somewhere",
        "message": "lost 3\nlines",
        "request_id": None,
        "code": "x",
    }


def test_in_the_journal_each_line_has_its_severity(tmp_path, monkeypatch):
    with (tmp_path / "journal").open("w+") as stream:
        file = os.fstat(stream.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{file.st_dev}:{file.st_ino}")
        with logging_to(stream, level="debug", log_format="text"):
            for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL):
                logger.log(level, "one\ntwo")
        stream.seek(0)
        lines = stream.read().splitlines()
    assert [line[:3] for line in lines[::2]] == ["<7>", "<6>", "<4>", "<3>", "<2>"]
    assert lines[1::2] == [f"{line[:3]}two" for line in lines[::2]]


@pytest.mark.parametrize("variable", ["", "1:1"])
def test_elsewhere_a_line_has_no_prefix(tmp_path, monkeypatch, variable):
    """Also where systemd's journal reads another stream: the log was led into a file."""
    monkeypatch.setenv("JOURNAL_STREAM", variable)
    with (tmp_path / "file").open("w+") as stream, logging_to(stream):
        logger.warning("lost")
    assert (tmp_path / "file").read_text().startswith("{")


def test_a_line_belongs_to_the_request_in_which_it_was_said():
    stream = io.StringIO()
    with logging_to(stream):
        token = correlation_id.set("order-66")
        logger.info("inside")
        correlation_id.reset(token)
        logger.info("outside")
    assert [line["request_id"] for line in written(stream)] == ["order-66", None]


def test_a_traceback_is_part_of_its_line():
    stream = io.StringIO()
    with logging_to(stream):
        logger.error("bug", exc_info=KeyError("lost"))
    [line] = written(stream)
    assert line["message"] == "bug"
    assert line["traceback"].endswith("KeyError: 'lost'")


@pytest.mark.parametrize(("level", "messages"), [("debug", ["d", "i", "w"]), ("info", ["i", "w"]), ("error", [])])
def test_only_what_is_severe_enough_is_written(level, messages):
    stream = io.StringIO()
    with logging_to(stream, level=level):
        logger.debug("d")
        logger.info("i")
        logger.warning("w")
    assert [line["message"] for line in written(stream)] == messages


def test_text_is_for_people():
    stream = io.StringIO()
    with logging_to(stream, log_format="text"):
        logger.info("hello")
    assert stream.getvalue().endswith(" INFO    gateway.somewhere [-] hello\n")


def test_uvicorn_writes_through_us_but_its_access_log_is_off():
    stream = io.StringIO()
    uvicorn = logging.getLogger("uvicorn.error")
    uvicorn.addHandler(logging.NullHandler())
    with logging_to(stream):
        uvicorn.info("started", extra={"color_message": "\x1b[36mstarted"})
        logging.getLogger("uvicorn.access").info("GET / 200")
    [line] = written(stream)
    assert (line["logger"], line["message"]) == ("uvicorn.error", "started")
    assert "color_message" not in line


def test_arguments_are_written_as_they_were_when_the_line_was_said():
    stream = io.StringIO()
    with logging_to(stream):
        lines = ["a"]
        logger.info("%s", lines)
        lines.append("b")
    assert written(stream)[0]["message"] == "['a']"


def test_a_stream_that_blocks_does_not_block_whoever_logs():
    class Stuck(io.StringIO):
        def __init__(self):
            super().__init__()
            self.free = threading.Event()

        def write(self, text):
            self.free.wait(30)
            return super().write(text)

    stream = Stuck()
    with logging_to(stream):
        for number in range(100):
            logger.info("%d", number)
        assert stream.getvalue() == ""
        stream.free.set()
    assert len(written(stream)) == 100


def test_lines_that_do_not_fit_are_dropped_and_the_next_one_says_how_many():
    lines = queue.Queue(1)
    handler = QueueOrDrop(lines)
    for message in ("kept", "lost", "lost"):
        handler.handle(record(message))
    kept = lines.get()
    handler.handle(record("next"))
    assert "dropped_before" not in vars(kept)
    assert vars(lines.get())["dropped_before"] == 2


def test_lines_that_a_full_disk_took_are_counted_and_the_next_one_stands_apart():
    class Disk(io.StringIO):
        full = False

        def write(self, text):
            if self.full:
                super().write(text[:5])
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(text)

    stream = Disk()
    handler = WriteOrCount(stream)
    handler.setFormatter(logging.Formatter("%(message)s"))
    lines = [record(message) for message in ("before", "lost-1", "lost-2", "after", "later")]
    for line, stream.full in zip(lines, (False, True, True, False, False), strict=True):
        handler.handle(line)
    assert stream.getvalue() == "before\nlost-\nlost\nafter\nlater\n"
    assert [vars(line).get("unwritten_before") for line in lines] == [None, None, 1, 2, None]


def test_a_warning_that_repeats_is_written_ten_times_a_second():
    hold_back = HoldBackRepeats()
    said = [record(created=1000 + n / 100) for n in range(50)]
    passed = [line for line in said if hold_back.filter(line)]
    assert passed == said[:10]
    assert [line for line in passed if "repeats" in vars(line)] == [said[9]]


def test_repeats_are_counted_anew_every_second_and_for_each_message():
    hold_back = HoldBackRepeats()
    said = [record(message, created=second) for second in (1000.0, 1001.0) for message in "ab" for _ in range(11)]
    assert sum(hold_back.filter(line) for line in said) == 40


def test_lines_about_requests_are_never_held_back():
    hold_back = HoldBackRepeats()
    assert all(hold_back.filter(record(level=logging.INFO)) for _ in range(1000))


def test_the_first_line_of_a_later_second_says_how_many_were_held_back():
    hold_back = HoldBackRepeats()
    storm = [record(created=1000.0) for _ in range(35)]
    later, still_later = record("other", logging.INFO, 1002.0), record("other", logging.INFO, 1003.0)
    passed = [line for line in (*storm, later, still_later) if hold_back.filter(line)]
    assert len(passed) == 12
    assert [vars(line).get("held_back_before") for line in (later, still_later)] == [25, None]


def test_lines_that_requests_end_with_are_never_held_back():
    hold_back = HoldBackRepeats()
    lines = [record(level=logging.ERROR) for _ in range(100)]
    for line in lines:
        line.name = REQUESTS
    assert all(hold_back.filter(line) for line in lines)


def test_lines_are_counted_by_severity_and_lost_ones_by_reason():
    written, lost = LOG_LINES.labels("warning")._value, LOG_LINES_LOST.labels("held_back")._value
    before = written.get(), lost.get()
    with logging_to(io.StringIO()):
        for _ in range(10):
            logger.warning("seldom")
    hold_back = HoldBackRepeats()
    assert sum(hold_back.filter(record()) for _ in range(13)) == 10
    assert (written.get(), lost.get()) == (before[0] + 10, before[1] + 3)


def test_python_warnings_are_lines_too():
    stream = io.StringIO()
    with logging_to(stream), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    [line] = written(stream)
    assert line["logger"] == "py.warnings"
    assert "DeprecationWarning: old" in line["message"]
