"""Models that take a fixed time and see the same lines on every page: all else of the gateway is real.

Two cores can't run real models and a tenfold load at once; what is measured is how the gateway itself bears it.
Decoding, scaling, the search for regions in the map, crops, chunks and CTC cost what they cost with real models.
"""

import asyncio
import time
from functools import lru_cache

import numpy as np

from gateway.arrays import Image, ProbabilityMap, Rows, RowSteps
from gateway.canary import KNOWN_TEXT
from gateway.inference.backend import EndpointStatus
from gateway.inference.contract import (
    Contract,
    DetectionContract,
    DetectionModel,
    RecognitionContract,
    RecognitionModel,
)

NARROW, WIDE = 160, 320
TEXTS = dict(zip((NARROW, WIDE), KNOWN_TEXT.splitlines(), strict=True))
CHARSET = ("", *sorted(set("".join(TEXTS.values()))))
LINE_HEIGHT, LINE_STEP, MARGIN = 20, 48, 40
ASPECTS = {NARROW: 1.5, WIDE: 10.0}
"""Length over height of a line: such that its crop, which has a margin, falls into this bucket."""
KNOWN_PICTURE_SIDE = 800
"""The known picture's tensor is lower than this, a page's is higher."""
PIXELS_PER_STEP = 4


class FixedModels:
    """A backend whose calls take `call_s`, any number of them at once.

    It reads the known picture rightly: its first line is short, the others are long, and so the bucket tells the text.
    """

    def __init__(self, call_s: float) -> None:
        self.last_answer_at = 0.0
        self.contract = Contract(
            "fixed",
            DetectionContract((DetectionModel("detection", "1"),)),
            RecognitionContract((RecognitionModel("recognition", "1"),), 48, (NARROW, WIDE), CHARSET),
        )
        self.outage = ""
        self.servers = 1
        self.endpoints: tuple[EndpointStatus, ...] = ()
        self._call_s = call_s

    async def detect(self, image: Image, *, timeout_s: float) -> ProbabilityMap:  # noqa: ARG002 - of the protocol
        """A line every few pixels, whatever the image shows."""
        await self._work()
        return fixed_map(image.shape[0], image.shape[1])

    async def recognize(self, rows: Rows, *, timeout_s: float, alternatives: bool = False) -> RowSteps:  # noqa: ARG002 - of the protocol
        """The bucket's text in each row."""
        await self._work()
        return fixed_steps(len(rows), rows.shape[2])

    async def wait_for_return(self) -> None:
        """Nothing goes away."""

    async def refresh(self) -> None:
        """Nothing is ever exchanged."""

    async def close(self) -> None:
        """Nothing is open."""

    async def _work(self) -> None:
        await asyncio.sleep(self._call_s)
        self.last_answer_at = time.monotonic()


@lru_cache(maxsize=16)
def fixed_map(height: int, width: int) -> ProbabilityMap:
    """The map of so many pixels: two lines for the known picture, else as many as there is room for."""
    found = np.zeros((height, width), np.uint8)
    tops = range(MARGIN, height - MARGIN - LINE_HEIGHT, LINE_STEP)
    for number, top in enumerate(tops[:2] if height < KNOWN_PICTURE_SIDE else tops):
        length = int(LINE_HEIGHT * ASPECTS[WIDE if number else NARROW])
        found[top : top + LINE_HEIGHT, MARGIN : MARGIN + length] = 255
    found.flags.writeable = False
    return found


def fixed_steps(rows: int, bucket_width: int) -> RowSteps:
    """Steps that spell the bucket's text; no character of it is followed by the same one."""
    shape = (rows, bucket_width // PIXELS_PER_STEP)
    class_index = np.zeros(shape, np.int32)
    text = TEXTS[bucket_width]
    class_index[:, : len(text)] = [CHARSET.index(character) for character in text]
    return RowSteps(class_index, np.ones(shape, np.float32), np.zeros(shape, np.float32))
