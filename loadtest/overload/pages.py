"""The images that are sent; the same bytes each time."""

import io

import numpy as np
from PIL import Image

NOISE_SEED = 7
QUALITY = 82


def page() -> bytes:
    """A JPEG of about a megapixel and 200 kB, as a telephone makes of a page after shrinking it."""
    return jpeg(1200, 900, noise=2)


def huge_page() -> bytes:
    """A JPEG of 20 megapixels and 3 MB."""
    return jpeg(5000, 4000, noise=0)


def jpeg(height: int, width: int, *, noise: float) -> bytes:
    """Dark strips on grainy paper; the more grain, the more bytes."""
    random = np.random.default_rng(NOISE_SEED)
    pixels = np.full((height, width), 225.0) + random.normal(0.0, noise, (height, width))
    for top in range(40, height - 60, 48):
        strip = pixels[top : top + 16, width // 12 : -width // 6]
        strip -= 170.0 * (random.random(strip.shape) < 0.4)
    buffer = io.BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).convert("RGB").save(buffer, "JPEG", quality=QUALITY)
    return buffer.getvalue()
