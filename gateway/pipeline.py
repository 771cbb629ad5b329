"""From the data of one image to a page. Read this first: one line a stage."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from gateway.arrays import Image, Quad
from gateway.concurrency import CpuPool
from gateway.deadline import Deadline
from gateway.decoders.decoders import Decoders, OpenFile
from gateway.errors import BackendError, BackendUnavailable, DeadlineExceeded, InferenceTimeout
from gateway.inference.backend import Backend
from gateway.inference.contract import require_alternatives
from gateway.inference.detector import Detector
from gateway.line_reader import LineReader, ReadLines
from gateway.metrics import StageTimes, count_unread
from gateway.ocr.decoding.picture import Decoded
from gateway.ocr.elements import LayerLine, Page, PageWarning, TextLine, TextRegion
from gateway.ocr.geometry import turn_quad, whole_quad
from gateway.ocr.options import PageOptions, RecognitionOptions
from gateway.ocr.page_frame import PageFrame
from gateway.ocr.paragraphs import paragraphs
from gateway.ocr.reading_order import reading_order
from gateway.ocr.rereading import UPRIGHT, Reading, is_accepted, wants_whole_image, whole_image_wins
from gateway.ocr.text_layer import uncovered, with_layer
from gateway.region_finder import Found, RegionFinder

STILL_ANSWERING_S = 0.25
"""An answer that is older does not prove that the models are answering now: a hang begins between two answers."""

EXCHANGES = 2
"""So often a page is begun anew when its models are exchanged for others: by a release, and when that is taken back."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of an image, in reading order, with what there is to say about how they were read.

    Attributes:
        lines: themselves.
        warnings: see there.
        turned: by how many degrees, clockwise, the page must be turned to be upright.
    """

    lines: tuple[TextLine, ...]
    warnings: tuple[PageWarning, ...] = ()
    turned: int = UPRIGHT


class OcrPipeline:
    """Reads images. One for the whole service; it keeps nothing between requests."""

    def __init__(
        self, backend: Backend, detector: Detector, lines: LineReader, pool: CpuPool, decoders: Decoders
    ) -> None:
        self._backend = backend
        self._regions = RegionFinder(backend, detector, pool)
        self._lines = lines
        self._pool = pool
        self._decoders = decoders

    async def open(self, data: bytes, options: PageOptions, *, deadline: Deadline, times: StageTimes) -> OpenFile:
        """Open a file, whose pages can then be read. The caller closes it.

        Raises:
            ImageError: it can't be served.
            DeadlineExceeded, Overloaded: the deadline passed.
        """
        with times.stage("decode"):
            return await self._decoders.open(data, options.document, deadline=deadline)

    async def read(
        self, file: OpenFile, number: int, options: PageOptions, *, deadline: Deadline, times: StageTimes
    ) -> Page:
        """Read one page of a file; it counts from 1.

        Raises:
            ImageError: the page can't be decoded.
            BackendError: the models failed; chained to what they said.
            InvalidRequest: alternatives are wanted that the models don't give.
            DeadlineExceeded: the client's own deadline passed while the models were answering.
            Overloaded: the server's deadline passed before the models' turn.
        """
        with times.stage("decode"):
            decoded = await file.decode(number, deadline=deadline)
        page = await self._read_decoded(decoded, options, deadline, times)
        return replace(page, image=decoded.image) if options.keep_image else page

    async def _read_decoded(
        self, decoded: Decoded, options: PageOptions, deadline: Deadline, times: StageTimes
    ) -> Page:
        """The page of a picture."""
        layer = options.areas.take_layer(decoded.text_layer)
        if options.document.text_layer == "only":
            return await self._pool.run(layer_page, decoded, layer, deadline=deadline)
        with self._judging_timeouts(deadline):
            found, read = await self._read_by_one_contract(decoded, options, deadline, times)
        height, width = decoded.image.shape[:2]
        warnings = (*decoded.warnings, *found.warnings, *read.warnings, *layer_warnings(decoded, layer))
        page = Page(decoded.picture, width, height, read.lines, warnings, found.scaled)
        with times.stage("order"):
            return await self._pool.run(arranged, page, layer, read.turned, deadline=deadline)

    async def _read_by_one_contract(
        self, decoded: Decoded, options: PageOptions, deadline: Deadline, times: StageTimes
    ) -> tuple[Found, Lines]:
        """What is found and read of a picture; all of it anew if the models meanwhile became others."""
        for left in reversed(range(EXCHANGES + 1)):
            contract = self._backend.contract
            try:
                outcome = await self._find_and_read(decoded, options, deadline, times)
            except BackendError:
                if self._backend.contract == contract or deadline.expired or not left:
                    raise
            else:
                if self._backend.contract == contract:
                    return outcome
        raise BackendUnavailable("the models were exchanged for others, again and again, while the image was read")

    async def _find_and_read(
        self, decoded: Decoded, options: PageOptions, deadline: Deadline, times: StageTimes
    ) -> tuple[Found, Lines]:
        require_alternatives(options.recognition.alternatives, self._backend.contract.recognition.alternatives)
        found = await self._find(decoded.image, options, deadline, times)
        found = replace(found, regions=uncovered(found.regions, decoded.text_layer))
        read = await self._read_regions(decoded.image, found, options, deadline, times)
        if options.level == "line":
            return found, read
        characters = options.level == "char"
        lines = await self._lines.place_words(
            decoded.image, read.lines, characters=characters, deadline=deadline, times=times
        )
        return found, replace(read, lines=lines)

    async def read_first(self, data: bytes, options: PageOptions, *, deadline: Deadline, times: StageTimes) -> Page:
        """Read the first page of a file."""
        file = await self.open(data, options, deadline=deadline, times=times)
        with closing(file):
            return await self.read(file, 1, options, deadline=deadline, times=times)

    async def _find(self, image: Image, options: PageOptions, deadline: Deadline, times: StageTimes) -> Found:
        """The regions of an image; the image itself when detection is off."""
        if not options.detect:
            return Found((whole_region(image),))
        found = await self._regions.find(image, options.detection, deadline=deadline, times=times)
        wanted = options.areas.take(found.regions)
        return replace(
            found, regions=wanted, warnings=(*found.warnings, *unwanted_warnings(len(found.regions) - len(wanted)))
        )

    async def _read_regions(
        self, image: Image, found: Found, options: PageOptions, deadline: Deadline, times: StageTimes
    ) -> Lines:
        """The lines of these regions, in reading order."""
        if not options.recognize:
            lines = tuple(map(TextLine, found.regions))
            return Lines(await self._pool.run(in_reading_order, lines, UPRIGHT, deadline=deadline))
        read = await self._lines.read(
            image,
            [region.crop_quad for region in found.regions],
            options.recognition,
            deadline=deadline,
            times=times,
        )
        with times.stage("recognize"):
            require_something_read(read)
        count_unread(error.code for error in read.unread)
        lines = accepted_lines(found.regions, read.readings, options.recognition)
        warnings = reading_warnings(len(found.regions) - len(lines), read)
        shape = (image.shape[0], image.shape[1])
        may_be_whole = options.detect and not options.areas and not read.unread
        if may_be_whole and wants_whole_image(shape, len(lines), options.recognition):
            lines, more_warnings = await self._or_whole_image(image, lines, options.recognition, deadline, times)
            warnings = (*warnings, *more_warnings)
        with times.stage("order"):
            ordered = await self._pool.run(in_reading_order, lines, read.turned, deadline=deadline)
        return Lines(ordered, warnings, read.turned)

    async def _or_whole_image(
        self,
        image: Image,
        lines: tuple[TextLine, ...],
        options: RecognitionOptions,
        deadline: Deadline,
        times: StageTimes,
    ) -> tuple[tuple[TextLine, ...], tuple[PageWarning, ...]]:
        """The lines of a thin image, or the whole image as one line if that reads better."""
        region = whole_region(image)
        with times.stage("reread"):
            read = await self._lines.read(image, [region.quad], options, deadline=deadline, times=times.within())
        reading = read.readings[0]
        if reading is None:
            return lines, lacking_warnings(1)
        found = [line.transcription for line in lines if line.transcription]
        wins = whole_image_wins(reading.transcription, found, options)
        return (text_line(region, reading),) if wins else lines, lacking_warnings(read.lacking)

    @contextmanager
    def _judging_timeouts(self, deadline: Deadline) -> Iterator[None]:
        """Tell a client's own short deadline from models that do not answer (docs/decisions/0006-503-and-504.md)."""
        started = time.monotonic()
        try:
            yield
        except InferenceTimeout as error:
            answering = self._backend.last_answer_at > max(started, time.monotonic() - STILL_ANSWERING_S)
            if deadline.from_client and deadline.expired and answering:
                raise DeadlineExceeded(
                    f"the {deadline.timeout_s:g} s that the request allowed were over; the models were answering",
                    stage=error.stage,
                ) from error
            raise


def layer_page(decoded: Decoded, layer: tuple[LayerLine, ...]) -> Page:
    """The page of what is wanted of a file's own text."""
    height, width = decoded.image.shape[:2]
    missing = () if decoded.text_layer else (PageWarning("no_text_layer", "the page has no text of its own"),)
    warnings = (*decoded.warnings, *missing, *layer_warnings(decoded, layer))
    return arranged(Page(decoded.picture, width, height, (), warnings), layer, UPRIGHT)


def arranged(page: Page, layer: tuple[LayerLine, ...], turned: int) -> Page:
    """The page with the lines of a file's own text, with how its text stands, and with its paragraphs."""
    lines = with_layer(page.lines, layer)
    quads = [line.region.quad for line in lines]
    frame = PageFrame.of(quads, turned)
    return replace(page, lines=lines, turned=turned, skew=frame.skew, paragraphs=paragraphs(quads, frame))


def layer_warnings(decoded: Decoded, layer: tuple[LayerLine, ...]) -> tuple[PageWarning, ...]:
    """What to say about lines of a file's own text that are not wanted."""
    return unwanted_warnings(len(decoded.text_layer) - len(layer))


def unwanted_warnings(count: int) -> tuple[PageWarning, ...]:
    """What to say about lines outside the areas that are to be read."""
    if not count:
        return ()
    return (PageWarning("lines_outside", f"lines left out because of region or ignore: {count}"),)


def whole_region(image: Image) -> TextRegion:
    """The image itself as a region."""
    quad = whole_quad(*image.shape[:2])
    return TextRegion(quad, quad, 1.0)


def require_something_read(read: ReadLines) -> None:
    """Raise what kept the lines from being read if there is none that was: a page of nothing helps nobody."""
    if read.unread and len(read.unread) == len(read.readings):
        raise read.unread[0]


def accepted_lines(
    regions: tuple[TextRegion, ...], readings: tuple[Reading | None, ...], options: RecognitionOptions
) -> tuple[TextLine, ...]:
    """The lines that say something and score enough, and without text those that could not be read."""
    return tuple(
        text_line(region, reading) if reading else TextLine(region)
        for region, reading in zip(regions, readings, strict=True)
        if reading is None or is_accepted(reading.transcription, options)
    )


def text_line(region: TextRegion, reading: Reading) -> TextLine:
    """A line whose quads start at the top-left corner of the text as it was read."""
    if reading.turned != UPRIGHT:
        quad, crop_quad = (turn_quad(quad, reading.turned) for quad in (region.quad, region.crop_quad))
        region = replace(region, quad=quad, crop_quad=crop_quad)
    return TextLine(region, reading.transcription, reading.turned)


def in_reading_order(lines: tuple[TextLine, ...], turned: int) -> tuple[TextLine, ...]:
    """The lines as a person reads them, on a page that must be turned so far to be upright."""
    quads: list[Quad] = [line.region.quad for line in lines]
    return tuple(lines[index] for index in reading_order(quads, turned))


def reading_warnings(left_out: int, read: ReadLines) -> tuple[PageWarning, ...]:
    """What the reader of a page should know about how its lines were read."""
    warnings = []
    if read.unread:
        reasons = ", ".join(sorted({error.code for error in read.unread}))
        detail = f"lines that could not be read, and are given without text: {len(read.unread)} ({reasons})"
        warnings.append(PageWarning("lines_unread", detail))
    if left_out:
        detail = f"regions read as nothing, or with a score below min_score, and left out: {left_out}"
        warnings.append(PageWarning("low_score_lines", detail))
    if read.split:
        warnings.append(
            PageWarning("line_split", f"lines too wide for one reading, which were read in pieces: {read.split}")
        )
    return (*warnings, *lacking_warnings(read.lacking))


def lacking_warnings(lacking: int) -> tuple[PageWarning, ...]:
    """What to say about lines that should have been read a second time, but could not."""
    if not lacking:
        return ()
    return (
        PageWarning("reread_incomplete", f"lines whose second reading failed, so that the first stands: {lacking}"),
    )
