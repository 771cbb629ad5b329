"""A page with the order of its lines drawn into it."""

from itertools import pairwise

import cv2
import numpy as np

from loadtest.order.figures import Quads

LONGER_SIDE = 1500
OUTLINE, NUMBER = (0, 160, 0), (0, 0, 200)
"""Colours, blue first."""


def picture(image: cv2.typing.MatLike, quads: Quads) -> cv2.typing.MatLike:
    """The page, paler: each line's outline and number, and a path from line to line that turns from blue to red."""
    scale = LONGER_SIDE / max(image.shape[:2])
    canvas = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) // 2 + 127
    cv2.polylines(canvas, list(np.rint(quads * scale).astype(np.int32)), isClosed=True, color=OUTLINE)
    starts = np.rint(quads[:, [0, 3]].mean(axis=1) * scale).astype(int).tolist()
    for number, (start, end) in enumerate(pairwise(starts)):
        red = round(255 * number / len(starts))
        cv2.line(canvas, start, end, (255 - red, 0, red), lineType=cv2.LINE_AA)
    for number, start in enumerate(starts):
        cv2.putText(canvas, str(number), start, cv2.FONT_HERSHEY_SIMPLEX, 0.4, NUMBER, lineType=cv2.LINE_AA)
    return canvas
