"""What the pages say when the models run on a CPU, in the same repository layout: the measure of the GPU's answers.

Made before the GPU is there, with the versions of NumPy and OpenCV that its machine has; a page's resizing differs
between versions by a unit here and there.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gateway.inference.embedded import EmbeddedBackend
from gateway.ocr.elements import Page
from loadtest.gpu.pages import PageFile
from loadtest.gpu.recording import Asked, RecordingBackend, line_width, reader


async def read_on_cpu(repository: Path, pages: Sequence[PageFile], say: Callable[[str], None]) -> dict[str, Any]:
    """The reading of each page by its name, with the shapes that it asked of the models."""
    backend = RecordingBackend(await EmbeddedBackend.open(repository))
    readings = {}
    async with reader(backend) as read:
        for page in pages:
            backend.asked = Asked()
            readings[page.name] = {**plain(await read(page.data)), **shapes(backend.asked)}
            say(f"{page.name}: {len(readings[page.name]['lines'])} lines")
    await backend.close()
    return readings


def plain(page: Page) -> dict[str, Any]:
    """A page in the types that JSON has; scores and pixels rounded as the API rounds them."""
    lines = [
        {
            "text": line.transcription.text if line.transcription else "",
            "score": round(float(line.transcription.score), 4) if line.transcription else 0.0,
            "quad": [[round(x, 1), round(y, 1)] for x, y in line.region.quad.tolist()],
        }
        for line in page.lines
    ]
    return {"lines": lines}


def shapes(asked: Asked) -> Mapping[str, Any]:
    """Sizes of the detector's tensors, and the widths of lines."""
    return {
        "detections": [list(tensor.shape[:2]) for tensor in asked.detections],
        "widths": [line_width(line) for line in asked.lines],
    }


def write_reference(repository: Path, pages: Sequence[PageFile], path: Path, say: Callable[[str], None]) -> None:
    """Read all pages and write what they say."""
    path.write_text(json.dumps(asyncio.run(read_on_cpu(repository, pages, say)), ensure_ascii=False), encoding="utf-8")
