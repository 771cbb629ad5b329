"""A backend that needs no models, and a batcher on it."""

import asyncio
from contextlib import asynccontextmanager

import numpy as np
from prometheus_client import REGISTRY

from gateway.arrays import RowSteps
from gateway.deadline import Deadline
from gateway.errors import OutOfMemory
from gateway.inference.batcher import Batcher, BatchLimits
from gateway.inference.contract import (
    Contract,
    DetectionContract,
    DetectionModel,
    RecognitionContract,
    RecognitionModel,
)

LINE_HEIGHT = 8
BUCKETS = (16, 32, 64)
ANY_SHAPE = (RecognitionModel("recognition", "1"),)
FIXED_ROWS = tuple(
    RecognitionModel(f"recognition_{bucket}_{rows}", "1", bucket, rows) for bucket in BUCKETS for rows in (1, 4, 8)
)


class FakeBackend:
    """Reads a line's first pixel, holds calls back while `gate` is shut, and remembers what it was sent.

    A chunk of more rows than `memory` has for its bucket runs out of memory.
    """

    last_answer_at = 0.0
    servers = 1

    def __init__(self, models=ANY_SHAPE):
        detection = DetectionContract((DetectionModel("detection", "1"),))
        self.contract = Contract("fake", detection, RecognitionContract(models, LINE_HEIGHT, BUCKETS, ("", "a")))
        self.chunks = []
        self.timeouts = []
        self.alternatives = []
        self.cancelled = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.failing = {}
        self.memory = {}
        self.delays = iter(())

    async def recognize(self, rows, *, timeout_s, alternatives=False):
        self.chunks.append(rows)
        self.timeouts.append(timeout_s)
        self.alternatives.append(alternatives)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await self._wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1
        return self._answer(rows)

    async def _wait(self):
        for _ in range(next(self.delays, 0)):
            await asyncio.sleep(0)
        await self.gate.wait()

    def _answer(self, rows):
        marks = marks_of(rows)
        if len(rows) > self.memory.get(rows.shape[2], 1000):
            raise OutOfMemory("the inference server ran out of memory")
        for mark in marks:
            if mark in self.failing:
                raise self.failing[mark]
        class_index = np.repeat(np.array(marks, np.int32)[:, None], rows.shape[2] // 8, axis=1)
        zeros = np.zeros(class_index.shape, np.float32)
        return RowSteps(class_index, zeros, zeros)

    async def detect(self, image, *, timeout_s):
        raise NotImplementedError

    async def close(self):
        pass


def marks_of(rows):
    """The number that each row of a chunk carries; `line` wrote it there."""
    return (rows[:, 0, 0].astype(np.int32) @ [1, 256, 65536]).tolist()


def line(mark, width=16):
    """A crop that carries a number."""
    crop = np.zeros((LINE_HEIGHT, width, 3), np.uint8)
    crop[:] = (mark % 256, mark // 256 % 256, mark // 65536)
    return crop


def lines(marks, width=16):
    return [line(mark, width) for mark in marks]


def read_marks(steps):
    return [int(line_steps.class_index[0]) for line_steps in steps]


def rows_of_pixels(rows, bucket=16):
    return rows * LINE_HEIGHT * bucket


def soon():
    return Deadline.after(0.05)


def later():
    return Deadline.after(60)


async def settle():
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


def sample(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0.0


@asynccontextmanager
async def batcher_of(backend, *, rows=8, calls=1, row_limits=None):
    """A batcher; when the test is done nothing may wait in it."""
    batcher = Batcher(backend, BatchLimits(max_chunk_pixels=rows_of_pixels(rows), calls_in_flight=calls), row_limits)
    yield batcher
    await settle()
    assert (len(batcher._queue), len(batcher._calls), len(batcher._owners)) == (0, 0, 0)
    assert sample("ocr_batcher_queued_rows") == 0
    assert backend.in_flight == 0


def start(batcher, crops, deadline=None, *, partial=False):
    return asyncio.create_task(batcher.read(crops, deadline=deadline or later(), partial=partial))
