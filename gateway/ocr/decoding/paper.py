"""What a transparent picture is put on: white paper, or black where everything in it is as good as white."""

import cv2
import numpy as np
from PIL import Image as Pillow

from gateway.arrays import Image
from gateway.ocr.elements import PageWarning, Paper

_LIGHT = 160
"""Luma from which ink hardly shows on white: its contrast to it is less than 3 : 1, to black more than 8 : 1."""

_MOSTLY = 0.98
"""Share of the ink that must be light. What is left may be the soft edges of glyphs."""


def put_on_paper(picture: Pillow.Image) -> tuple[Image, Paper]:
    """Blend a picture of any mode with transparency; BGR (height, width, 3), and the paper that was chosen."""
    with_alpha = picture.convert("RGBA")
    paper = choose_paper(with_alpha)
    blended = Pillow.new("RGB", picture.size, paper)
    blended.paste(with_alpha, mask=with_alpha.getchannel("A"))
    return np.asarray(cv2.cvtColor(np.asarray(blended), cv2.COLOR_RGB2BGR), np.uint8), paper


def choose_paper(with_alpha: Pillow.Image) -> Paper:
    """The paper on which an RGBA picture shows what is in it: white unless nothing would be left to see on it."""
    ink = np.asarray(with_alpha.getchannel("A")) >= 128
    if ink.all() or not ink.any():
        return "white"
    luma = np.asarray(with_alpha.convert("L"))
    return "black" if np.mean(luma[ink] >= _LIGHT) >= _MOSTLY else "white"


def paper_warnings(paper: Paper | None) -> tuple[PageWarning, ...]:
    """What to say about a choice that nobody made."""
    if paper != "black":
        return ()
    return (PageWarning("black_paper", "the picture is transparent and all of it is light: it was put on black"),)
