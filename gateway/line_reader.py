"""Reads the lines of one page: crops, chunks shared with other requests, CTC; then second readings where they may help.

Which lines are read again, and which reading wins, is decided in `gateway.ocr.rereading`; this module does the reading.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from gateway.arrays import Crop, Image, Plane, Quad
from gateway.concurrency import CpuPool
from gateway.deadline import Deadline
from gateway.errors import OcrError
from gateway.inference.backend import Backend
from gateway.inference.batcher import Batcher
from gateway.inference.contract import RecognitionContract
from gateway.inference.owners import Answer
from gateway.metrics import StageTimes
from gateway.ocr import ctc
from gateway.ocr.crops import crop_lines, plane_if_grey
from gateway.ocr.elements import TextLine, Transcription
from gateway.ocr.geometry import quad_size, turn_quad
from gateway.ocr.options import RecognitionOptions
from gateway.ocr.portions import plan_portions
from gateway.ocr.rereading import UPRIGHT, Reading, choose, first_turns, lacks_page_turn, lean, next_turn, page_turn
from gateway.ocr.wide_lines import Cut, cut_line, plan_cuts, stitch
from gateway.ocr.words import with_words


@dataclass(frozen=True, slots=True)
class LineTask:
    """One reading to be made: which line, turned by how many degrees clockwise."""

    line: int
    turned: int


@dataclass(frozen=True, slots=True)
class Transcribed:
    """What came of one crop.

    Attributes:
        outcome: its text, or why there is none.
        was_cut: whether it was too wide to be read in one piece.
    """

    outcome: Transcription | OcrError
    was_cut: bool


@dataclass(frozen=True, slots=True)
class CutCrop:
    """A crop as it is sent: whole, or in the pieces that fit the last bucket."""

    pieces: tuple[Crop, ...]
    cuts: tuple[Cut, ...]


@dataclass(frozen=True, slots=True)
class ReadLines:
    """The lines of a page, read.

    Attributes:
        readings: the winning one of each line; None if it could not be read.
        split: how many lines were too wide to be read in one piece.
        turned: by how many degrees, clockwise, the page must be turned to be upright.
        unread: for each line that could not be read, why.
        lacking: how many lines lack a second reading that should have been made.
    """

    readings: tuple[Reading | None, ...]
    split: int
    turned: int
    unread: tuple[OcrError, ...] = ()
    lacking: int = 0


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
            BackendError: from the models. With `options.partial`, lines that a failed call carried are left unread
                instead; the errors that concern all lines are raised even so.
            Draining: the service is shutting down.
        """
        with times.stage("crops"):
            pixels = await self._pool.run(plane_if_grey, image, deadline=deadline)
        page = _PageReading(self, pixels, quads, options, deadline)
        await page.make_first_readings(times)
        if options.reread:
            with times.stage("reread"):
                await page.make_second_readings(times.within())
        return page.result()

    async def place_words(
        self, image: Image, lines: Sequence[TextLine], *, characters: bool, deadline: Deadline, times: StageTimes
    ) -> tuple[TextLine, ...]:
        """The lines with their words, and these with their characters if they are wanted."""
        line_height = self._backend.contract.recognition.line_height
        place = partial(with_words, line_height=line_height, characters=characters)
        with times.stage("words"):
            return await self._pool.run(place, image, lines, deadline=deadline)

    async def transcribe(
        self,
        image: Image | Plane,
        quads: Sequence[Quad],
        options: RecognitionOptions,
        *,
        deadline: Deadline,
        times: StageTimes,
    ) -> list[Transcribed]:
        """Read each quad once, in portions whose crops fit into memory together."""
        line_height = self._backend.contract.recognition.line_height
        read: dict[int, Transcribed] = {}
        for portion in plan_portions(quads, line_height=line_height):
            part = [quads[index] for index in portion]
            transcribed = await self._transcribe_portion(image, part, options, deadline, times)
            read.update(zip(portion, transcribed, strict=True))
        return [read[index] for index in range(len(quads))]

    async def _transcribe_portion(
        self,
        image: Image | Plane,
        quads: Sequence[Quad],
        options: RecognitionOptions,
        deadline: Deadline,
        times: StageTimes,
    ) -> list[Transcribed]:
        contract = self._backend.contract.recognition
        with times.stage("crops"):
            crops = await self._pool.run(cut_crops, image, quads, contract, deadline=deadline)
        with times.stage("recognize"):
            pieces = [piece for crop in crops for piece in crop.pieces]
            answers = await self._batcher.read(
                pieces,
                deadline=deadline,
                partial=options.partial,
                alternatives=options.alternatives > 0,
                sent=times.sent,
            )
        with times.stage("ctc"):
            outcomes = await self._pool.run(decode_crops, crops, answers, contract.charset, options, deadline=deadline)
        return [Transcribed(outcome, bool(crop.cuts)) for outcome, crop in zip(outcomes, crops, strict=True)]


class _PageReading:
    """The readings of one page as they come in."""

    def __init__(
        self,
        reader: LineReader,
        image: Image | Plane,
        quads: Sequence[Quad],
        options: RecognitionOptions,
        deadline: Deadline,
    ) -> None:
        self._reader = reader
        self._image = image
        self._quads = quads
        self._options = options
        self._deadline = deadline
        self._readings: dict[int, list[Reading]] = {line: [] for line in range(len(quads))}
        self._unread: dict[int, OcrError] = {}
        self._lacking: set[int] = set()
        self._split: set[int] = set()
        self._page = UPRIGHT

    async def make_first_readings(self, times: StageTimes) -> None:
        """The readings that every line gets. A line that lacks one is unread, for the other may be the wrong one."""
        for task, error in await self._make(self._first_tasks(), times):
            self._readings.pop(task.line, None)
            self._unread[task.line] = error

    async def make_second_readings(self, times: StageTimes) -> None:
        """Read doubtful lines the other way up; if the page proves to be turned, read the others its way up too."""
        turns = ((line, next_turn(readings, self._options)) for line, readings in self._readings.items())
        await self._make_again([LineTask(line, turned) for line, turned in turns if turned is not None], times)
        votes = [lean(readings, self._options) for readings in self._readings.values()]
        self._page = page_turn(votes, self._options)
        await self._make_again(
            [
                LineTask(line, self._page)
                for line, readings in self._readings.items()
                if lacks_page_turn(readings, self._page, self._options)
            ],
            times,
        )

    def result(self) -> ReadLines:
        """What won."""
        chosen = {line: choose(readings, self._options, page=self._page) for line, readings in self._readings.items()}
        return ReadLines(
            tuple(chosen.get(line) for line in range(len(self._quads))),
            len(self._split),
            self._page,
            tuple(self._unread.values()),
            len(self._lacking),
        )

    def _first_tasks(self) -> list[LineTask]:
        if not self._quads:
            return []
        widths, heights = (sides.astype(int).tolist() for sides in quad_size(np.stack(self._quads)))
        sizes = zip(heights, widths, strict=True)
        return [
            LineTask(line, turned) for line, size in enumerate(sizes) for turned in first_turns(size, self._options)
        ]

    async def _make_again(self, tasks: Sequence[LineTask], times: StageTimes) -> None:
        """A line that gets no second reading keeps its first."""
        self._lacking |= {task.line for task, _ in await self._make(tasks, times)}

    async def _make(self, tasks: Sequence[LineTask], times: StageTimes) -> list[tuple[LineTask, OcrError]]:
        """Make readings and add them to those of their lines; those that could not be made, and why."""
        if not tasks:
            return []
        quads = [turn_quad(self._quads[task.line], task.turned) for task in tasks]
        transcribed = await self._reader.transcribe(
            self._image, quads, self._options, deadline=self._deadline, times=times
        )
        lost = []
        for task, crop in zip(tasks, transcribed, strict=True):
            if isinstance(crop.outcome, OcrError):
                lost.append((task, crop.outcome))
                continue
            self._readings[task.line].append(Reading(task.turned, crop.outcome))
            if crop.was_cut:
                self._split.add(task.line)
        return lost


def cut_crops(image: Image | Plane, quads: Sequence[Quad], contract: RecognitionContract) -> list[CutCrop]:
    """The crop of each quad, in pieces where it is wider than the last bucket."""
    crops = crop_lines(image, quads, line_height=contract.line_height)
    return [_cut_crop(crop, contract.buckets[-1]) for crop in crops]


def _cut_crop(crop: Crop, max_width: int) -> CutCrop:
    cuts = plan_cuts(crop, max_width=max_width)
    return CutCrop(tuple(cut_line(crop, cuts)), cuts)


def decode_crops(
    crops: Sequence[CutCrop], answers: Sequence[Answer], charset: Sequence[str], options: RecognitionOptions
) -> list[Transcription | OcrError]:
    """The transcription of each crop, or why one of its pieces has none; `answers` are those of all pieces in order."""
    waiting = iter(answers)
    return [_decode_crop(crop, list(islice(waiting, len(crop.pieces))), charset, options) for crop in crops]


def _decode_crop(
    crop: CutCrop, answers: Sequence[Answer], charset: Sequence[str], options: RecognitionOptions
) -> Transcription | OcrError:
    pieces = []
    for piece, answer in zip(crop.pieces, answers, strict=True):
        if isinstance(answer, OcrError):
            return answer
        pieces.append(
            ctc.decode(
                answer,
                charset,
                crop_width=piece.shape[1],
                space_probability=options.space_probability,
                alternatives=options.alternatives,
            )
        )
    return stitch(pieces, crop.cuts)
