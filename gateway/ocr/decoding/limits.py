"""What an image may declare, checked against its header before any pixel is decoded."""

from dataclasses import dataclass

from gateway.errors import ImageTooLarge, UnreadableImage


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    """What an image may declare.

    Attributes:
        max_pixels: width times height.
        max_side: width or height, in pixels.
    """

    max_pixels: int = 50_000_000
    max_side: int = 20_000


def check_size(width: int, height: int, limits: DecodeLimits) -> None:
    """Raise unless an image of this size may be decoded.

    Raises:
        UnreadableImage: it has no pixels.
        ImageTooLarge: it has too many.
    """
    if width < 1 or height < 1:
        raise UnreadableImage(f"the image is {width} x {height} pixels: nothing to see")
    if width * height > limits.max_pixels or max(width, height) > limits.max_side:
        raise ImageTooLarge(
            f"the image is {width} x {height} pixels ({megapixels(width * height)}); the limit is "
            f"{megapixels(limits.max_pixels)} and {limits.max_side} pixels a side"
        )


def megapixels(pixels: int) -> str:
    """For messages."""
    return f"{pixels / 1e6:.4g} MP"
