"""Which lines of a page are cut out at a time: what crops take of memory does not grow with the number of lines. Pure.

Small print is enlarged: the crops of a page that is full of it have several times the page's own pixels. So they are
made in portions, and one portion has been read before the next is cut out. Portions go by width, because lines of like
width share chunks: but for the last chunk of each bucket, a page takes as many calls in portions as at once.
"""

from collections.abc import Sequence

import numpy as np

from gateway.arrays import Quad
from gateway.ocr.crops import crop_widths

PORTION_PIXELS = 4_000_000
"""Of the crops that a page has at once, 12 MB: eight full chunks, or 260 lines of 320 pixels."""


def plan_portions(
    quads: Sequence[Quad], *, line_height: int, max_pixels: int = PORTION_PIXELS
) -> tuple[tuple[int, ...], ...]:
    """The indices of the quads, in portions of at most so many pixels of crops; a single line may have more.

    A page that fits into one portion keeps its order.
    """
    if not quads:
        return ()
    pixels = line_height * crop_widths(np.stack(quads), line_height=line_height).astype(np.int64)
    if pixels.sum() <= max_pixels:
        return (tuple(range(len(quads))),)
    portions: list[list[int]] = []
    left = 0
    for index in pixels.argsort(kind="stable").tolist():
        if not portions or pixels[index] > left:
            portions.append([])
            left = max_pixels
        portions[-1].append(index)
        left -= int(pixels[index])
    return tuple(map(tuple, portions))
