"""Small files of the types that are decoded in processes."""

import io

from PIL import Image, ImageDraw


def tiff(*sizes):
    """Pages of these sizes; page 1 is red, 2 green, 3 blue, and so on."""
    colors = ["red", "green", "blue", "black"]
    pages = [Image.new("RGB", size, colors[index % 4]) for index, size in enumerate(sizes)]
    return saved(pages[0], "TIFF", save_all=True, append_images=pages[1:])


def pdf(*sizes, dpi=72):
    """Pages of these sizes, in pixels at this resolution, each with one picture that fills it."""
    pages = [Image.new("RGB", size, "white") for size in sizes]
    for page in pages:
        ImageDraw.Draw(page).rectangle([0, 0, page.width // 2, page.height // 2], fill="black")
    return saved(pages[0], "PDF", save_all=True, append_images=pages[1:], resolution=dpi)


def saved(picture, file_type, **options):
    file = io.BytesIO()
    picture.save(file, file_type, **options)
    return file.getvalue()
