"""Logs of the whole process: one JSON object or one text line each, with the id of the request it belongs to.

Loggers only put their records into a bounded queue; a thread formats and writes them. So whoever reads our output and
stops reading it can't stop the event loop. What does not fit is dropped, what can't be written because the disk is full
is lost, and the next line says how much. A warning or an error that repeats is written ten times a second at most, and
the first line of a later second says how many were held back; lines about requests are never held back.

What goes to systemd's journal has the prefix from which the journal takes a line's severity (sd-daemon(3)); without it
all lines would be alike there.

Severities: DEBUG is for whoever looks for something; INFO happens as intended; WARNING means that something outside of
the gateway fails, and that it copes; ERROR needs somebody to look; CRITICAL is a bug that nobody else would notice.
"""

import logging
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from logging.handlers import QueueHandler
from queue import Full, Queue
from threading import Thread
from typing import Literal, TextIO

from asgi_correlation_id import correlation_id
from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

from gateway.metrics import LOG_LINES, LOG_LINES_LOST

LogFormat = Literal["json", "text"]

REQUESTS = "gateway.requests"
"""The logger of the one line that each request ends with."""

_MAX_QUEUED = 10_000
_REPEATS_PER_S = 10
_LAST_LINES_S = 2.0
_UVICORN = ("uvicorn", "uvicorn.error", "uvicorn.access")
_JOURNAL_PRIORITIES = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}
_DOUBLES = ("uvicorn.access", "python_multipart")
"""What these say at level info or warning, `gateway.web` says better: a line per request, a problem per broken form."""


@contextmanager
def logging_to(stream: TextIO = sys.stderr, *, level: str = "info", log_format: LogFormat = "json") -> Iterator[None]:
    """Send what every logger of the process says to `stream`; leaving writes what is still queued.

    Start uvicorn with `log_config=None`, or it takes its loggers back.
    """
    root, queue = logging.getLogger(), Queue[logging.LogRecord | None](_MAX_QUEUED)
    before = root.handlers, root.level
    root.handlers = [_queue_handler(queue)]
    root.setLevel(level.upper())
    logging.captureWarnings(capture=True)
    _fold_in_libraries()
    writer = Thread(target=_write, args=(queue, _writer(stream, log_format)), name="logs", daemon=True)
    writer.start()
    try:
        yield
    finally:
        root.handlers, root.level = before
        logging.captureWarnings(capture=False)
        with suppress(Full):
            queue.put(None, timeout=_LAST_LINES_S)
            writer.join(_LAST_LINES_S)


class HoldBackRepeats(logging.Filter):
    """Lets a warning or an error pass ten times a second.

    The tenth says that there may be more, and the first line of a later second, whatever it is about, how many.
    """

    def __init__(self) -> None:
        super().__init__()
        self._second = 0
        self._seen = Counter[tuple[str, str]]()
        self._held_back = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written."""
        if int(record.created) != self._second:
            self._begin_second(record)
        if record.levelno < logging.WARNING or record.name == REQUESTS or self._is_seldom(record):
            return True
        self._held_back += 1
        LOG_LINES_LOST.labels("held_back").inc()
        return False

    def _begin_second(self, record: logging.LogRecord) -> None:
        if self._held_back:
            record.__dict__["held_back_before"] = self._held_back
        self._second, self._held_back = int(record.created), 0
        self._seen.clear()

    def _is_seldom(self, record: logging.LogRecord) -> bool:
        kind = record.name, record.msg
        self._seen[kind] += 1
        if self._seen[kind] == _REPEATS_PER_S:
            record.__dict__["repeats"] = "held back for the rest of this second"
        return self._seen[kind] <= _REPEATS_PER_S


class QueueOrDrop(QueueHandler):
    """Puts records into the queue as they are, for a thread of the same process; never waits."""

    def __init__(self, queue: "Queue[logging.LogRecord | None]") -> None:
        super().__init__(queue)
        self._dropped = 0

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Fix what may be different by the time the thread looks: the arguments and the request's id."""
        record.msg, record.args = record.getMessage(), None
        if request_id := correlation_id.get():
            record.__dict__["request_id"] = request_id
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        """Add the record, or count it as dropped."""
        LOG_LINES.labels(record.levelname.lower()).inc()
        if self._dropped:
            record.__dict__["dropped_before"] = self._dropped
        try:
            self.queue.put_nowait(record)
            self._dropped = 0
        except Full:
            self._dropped += 1
            LOG_LINES_LOST.labels("dropped").inc()


class WriteOrCount(logging.StreamHandler[TextIO]):
    """Writes lines. The first one after some that could not be written, because the disk was full, says how many."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._unwritten = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record, or count it."""
        unwritten = self._unwritten
        if unwritten:
            record.__dict__["unwritten_before"] = unwritten
        super().emit(record)
        if self._unwritten == unwritten:
            self._unwritten = 0

    def format(self, record: logging.LogRecord) -> str:
        """The line, apart from what may have been written of one that failed."""
        line = super().format(record)
        return f"\n{line}" if self._unwritten else line

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name that logging gave it
        """Count the record if the stream is at fault: nothing could be written about it either."""
        if isinstance(sys.exception(), OSError):
            self._unwritten += 1
            LOG_LINES_LOST.labels("unwritten").inc()
        else:
            super().handleError(record)


class ForTheJournal(logging.Formatter):
    """Lines of another formatter with their severity in front, which the journal takes away again."""

    def __init__(self, lines: logging.Formatter) -> None:
        super().__init__()
        self._lines = lines

    def format(self, record: logging.LogRecord) -> str:
        """The lines; a traceback in text has several."""
        prefix = f"<{_JOURNAL_PRIORITIES[record.levelname]}>"
        return prefix + self._lines.format(record).replace("\n", f"\n{prefix}")


def is_journal(stream: TextIO) -> bool:
    """Whether systemd's journal reads the stream; it says in JOURNAL_STREAM which one it reads (systemd.exec(5))."""
    try:
        file = os.fstat(stream.fileno())
    except OSError:  # not a file
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{file.st_dev}:{file.st_ino}"


def _queue_handler(queue: "Queue[logging.LogRecord | None]") -> logging.Handler:
    handler = QueueOrDrop(queue)
    handler.addFilter(HoldBackRepeats())
    return handler


def _writer(stream: TextIO, log_format: LogFormat) -> logging.Handler:
    handler = WriteOrCount(stream)
    lines = _json_formatter() if log_format == "json" else _text_formatter()
    handler.setFormatter(ForTheJournal(lines) if is_journal(stream) else lines)
    return handler


def _json_formatter() -> logging.Formatter:
    return JsonFormatter(
        ["levelname", "name", "message", "request_id"],
        rename_fields={"levelname": "level", "name": "logger", "exc_info": "traceback"},
        reserved_attrs=[*RESERVED_ATTRS, "color_message"],
        timestamp="time",
    )


def _text_formatter() -> logging.Formatter:
    form = "%(asctime)s %(levelname)-7s %(name)s [%(request_id)s] %(message)s"
    return logging.Formatter(form, defaults={"request_id": "-"})


def _fold_in_libraries() -> None:
    for name in _UVICORN:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    for name in _DOUBLES:
        logging.getLogger(name).setLevel(logging.ERROR)


def _write(queue: "Queue[logging.LogRecord | None]", writer: logging.Handler) -> None:
    for record in iter(queue.get, None):
        writer.handle(record)
