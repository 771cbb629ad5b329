"""Finds the lines of an image: one call to the detector, or one for each tile."""

from dataclasses import dataclass, replace
from functools import partial

from gateway.arrays import Image, ProbabilityMap
from gateway.concurrency import CpuPool, gather_all
from gateway.deadline import Deadline
from gateway.inference.backend import Backend
from gateway.inference.detector import Detector
from gateway.metrics import StageTimes
from gateway.ocr.detection import PreparedImage, prepare_detection
from gateway.ocr.elements import PageWarning, TextRegion
from gateway.ocr.options import DetectionOptions
from gateway.ocr.regions import find_text_regions
from gateway.ocr.tiling import Tile, join, plan_tiles, tile_side, whole, with_ink


@dataclass(frozen=True, slots=True)
class Found:
    """Regions of an image, the size at which they were looked for, and what there is to say about them."""

    regions: tuple[TextRegion, ...]
    warnings: tuple[PageWarning, ...] = ()
    scaled: float = 1.0


@dataclass(frozen=True, slots=True)
class RegionFinder:
    """Turns images into regions. One for the whole service; it keeps nothing between pages.

    Attributes:
        backend: knows what the detector takes.
        detector: sees.
        pool: for everything else.
    """

    backend: Backend
    detector: Detector
    pool: CpuPool

    async def find(self, image: Image, options: DetectionOptions, *, deadline: Deadline, times: StageTimes) -> Found:
        """The regions of an image.

        Raises:
            BackendError: the detector failed.
        """
        shape, side = (image.shape[0], image.shape[1]), tile_side(options, self.backend.contract.detection.shapes)
        if options.tile and max(shape) > side:
            prepared, probability_map = await self._detect_in_tiles(image, side, options, deadline, times)
        else:
            prepared, probability_map = await self._detect(image, options, deadline, times)
        with times.stage("regions"):
            found = await self.pool.run(find_text_regions, probability_map, prepared, options, deadline=deadline)
        return Found(tuple(found.regions), (*prepared.warnings, *found.warnings), prepared.scaled)

    async def _detect(
        self, image: Image, options: DetectionOptions, deadline: Deadline, times: StageTimes
    ) -> tuple[PreparedImage, ProbabilityMap]:
        contract = self.backend.contract.detection
        prepare = partial(prepare_detection, side_multiple=contract.side_multiple, shapes=contract.shapes)
        with times.stage("prepare"):
            prepared = await self.pool.run(prepare, image, options, deadline=deadline)
        with times.stage("detect"):
            return prepared, await self.detector.detect(prepared.tensor, deadline=deadline)

    async def _detect_in_tiles(
        self, image: Image, side: int, options: DetectionOptions, deadline: Deadline, times: StageTimes
    ) -> tuple[PreparedImage, ProbabilityMap]:
        """A row of tiles at a time: their inputs are copies. Those without ink are passed over."""
        as_they_are = replace(options, min_side=0, limit_side=side)

        async def detect(tile: Tile) -> tuple[Tile, PreparedImage, ProbabilityMap]:
            return tile, *await self._detect(tile.cut(image), as_they_are, deadline, times)

        shape = (image.shape[0], image.shape[1])
        parts: list[tuple[Tile, PreparedImage, ProbabilityMap]] = []
        for row in plan_tiles(shape, side):
            inked = await self.pool.run(with_ink, image, row, deadline=deadline)
            parts += await gather_all(map(detect, inked))
        return whole(image), await self.pool.run(join, shape, parts, deadline=deadline)
