"""Reads the lines of one page: crops, chunks shared with other requests, CTC; then second readings where they may help.

Which lines are read again, and which reading wins, is decided in `gateway.ocr.rereading`; this module does the reading.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.arrays import Crop, Image, LineSteps, Quad
from gateway.concurrency import CpuPool
from gateway.deadline import Deadline
from gateway.inference.backend import Backend
from gateway.inference.batcher import Batcher
from gateway.inference.contract import RecognitionContract
from gateway.metrics import StageTimes
from gateway.ocr import ctc
from gateway.ocr.crops import crop_line
from gateway.ocr.elements import Transcription
from gateway.ocr.geometry import quad_size, turn_quad
from gateway.ocr.options import RecognitionOptions
from gateway.ocr.rereading import UPRIGHT, Reading, choose, first_turns, lacks_page_turn, lean, next_turn, page_turn
from gateway.ocr.wide_lines import Cut, cut_line, plan_cuts, stitch


@dataclass(frozen=True, slots=True)
class LineTask:
    """One reading to be made: which line, turned by how many degrees clockwise."""

    line: int
    turned: int


@dataclass(frozen=True, slots=True)
class CutCrop:
    """A crop as it is sent: whole, or in the pieces that fit the last bucket."""

    pieces: tuple[Crop, ...]
    cuts: tuple[Cut, ...]


@dataclass(frozen=True, slots=True)
class ReadLines:
    """The lines of a page, read.

    Attributes:
        readings: the winning one of each line.
        split: how many lines were too wide to be read in one piece.
        turned: by how many degrees, clockwise, the page must be turned to be upright.
    """

    readings: tuple[Reading, ...]
    split: int
    turned: int


class LineReader:
    """Turns quads of an image into transcriptions. One for the whole service; it keeps nothing between pages."""

    def __init__(self, backend: Backend, batcher: Batcher, pool: CpuPool) -> None:
        self._backend = backend
        self._batcher = batcher
        self._pool = pool

    async def read(
        self, image: Image, quads: Sequence[Quad], options: RecognitionOptions, *, deadline: Deadline, times: StageTimes
    ) -> ReadLines:
        """Read every line, doubtful ones twice.

        Raises:
            BackendError: from the models; the page is not given in part.
            Draining: the service is shutting down.
        """
        page = _PageReading(self, image, quads, options, deadline)
        await page.make(page.first_tasks(), times)
        if options.reread:
            with times.stage("reread"):
                await page.make_second_readings()
        return page.result()

    async def transcribe(
        self, image: Image, quads: Sequence[Quad], space_probability: float, *, deadline: Deadline, times: StageTimes
    ) -> list[tuple[Transcription, bool]]:
        """Read each quad once; with each transcription, whether its crop had to be cut."""
        contract = self._backend.contract.recognition
        with times.stage("crops"):
            crops = await self._pool.run(cut_crops, image, quads, contract, deadline=deadline)
        with times.stage("recognize"):
            steps = await self._batcher.read([piece for crop in crops for piece in crop.pieces], deadline=deadline)
        with times.stage("ctc"):
            texts = await self._pool.run(decode_crops, crops, steps, contract, space_probability, deadline=deadline)
        return [(text, bool(crop.cuts)) for text, crop in zip(texts, crops, strict=True)]


class _PageReading:
    """The readings of one page as they come in."""

    def __init__(
        self, reader: LineReader, image: Image, quads: Sequence[Quad], options: RecognitionOptions, deadline: Deadline
    ) -> None:
        self._reader = reader
        self._image = image
        self._quads = quads
        self._options = options
        self._deadline = deadline
        self._readings: list[list[Reading]] = [[] for _ in quads]
        self._split: set[int] = set()
        self._page = UPRIGHT

    def first_tasks(self) -> list[LineTask]:
        """The readings that every line gets."""
        tasks = []
        for line, quad in enumerate(self._quads):
            width, height = quad_size(quad)
            tasks += [LineTask(line, turned) for turned in first_turns((int(height), int(width)), self._options)]
        return tasks

    async def make_second_readings(self) -> None:
        """Read doubtful lines the other way up; if the page proves to be turned, read the others its way up too."""
        turns = (next_turn(readings, self._options) for readings in self._readings)
        await self.make([LineTask(line, turned) for line, turned in enumerate(turns) if turned is not None])
        votes = [lean(readings, self._options) for readings in self._readings]
        self._page = page_turn(votes, self._options)
        lacking = (lacks_page_turn(readings, self._page, self._options) for readings in self._readings)
        await self.make([LineTask(line, self._page) for line, lacks in enumerate(lacking) if lacks])

    async def make(self, tasks: Sequence[LineTask], times: StageTimes | None = None) -> None:
        """Make readings and add them to those of their lines."""
        if not tasks:
            return
        quads = [turn_quad(self._quads[task.line], task.turned) for task in tasks]
        transcribed = await self._reader.transcribe(
            self._image, quads, self._options.space_probability, deadline=self._deadline, times=times or StageTimes()
        )
        for task, (transcription, was_cut) in zip(tasks, transcribed, strict=True):
            self._readings[task.line].append(Reading(task.turned, transcription))
            if was_cut:
                self._split.add(task.line)

    def result(self) -> ReadLines:
        """What won."""
        return ReadLines(tuple(self._chosen()), len(self._split), self._page)

    def _chosen(self) -> list[Reading]:
        return [choose(readings, self._options, page=self._page) for readings in self._readings]


def cut_crops(image: Image, quads: Sequence[Quad], contract: RecognitionContract) -> list[CutCrop]:
    """The crop of each quad, in pieces where it is wider than the last bucket."""
    return [_cut_crop(crop_line(image, quad, line_height=contract.line_height), contract.buckets[-1]) for quad in quads]


def _cut_crop(crop: Crop, max_width: int) -> CutCrop:
    cuts = plan_cuts(crop, max_width=max_width)
    return CutCrop(tuple(cut_line(crop, cuts)), cuts)


def decode_crops(
    crops: Sequence[CutCrop], steps: Sequence[LineSteps], contract: RecognitionContract, space_probability: float
) -> list[Transcription]:
    """The transcription of each crop; `steps` are those of all pieces in order."""
    pieces = iter(steps)
    return [
        stitch(
            [
                ctc.decode(
                    next(pieces), contract.charset, crop_width=piece.shape[1], space_probability=space_probability
                )
                for piece in crop.pieces
            ],
            crop.cuts,
        )
        for crop in crops
    ]
