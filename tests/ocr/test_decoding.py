import io
import json
import random
import zlib

import numpy as np
import pytest
from made_images import CORNERS, encode, png_chunk, png_header, quarters, with_orientation
from PIL import Image

from gateway.errors import ImageError, ImageTooLarge, OcrError, UnreadableImage, UnsupportedImage
from gateway.ocr.decoding.files import decode_page, inspect_file
from gateway.ocr.decoding.limits import DecodeLimits

LIMITS = DecodeLimits()

# How a picture is stored for each EXIF orientation, as a change of the upright one.
STORED = {
    1: lambda upright: upright,
    2: lambda upright: upright[:, ::-1],
    3: lambda upright: upright[::-1, ::-1],
    4: lambda upright: upright[::-1],
    5: lambda upright: upright.transpose(1, 0, 2),
    6: np.rot90,
    7: lambda upright: upright[::-1, ::-1].transpose(1, 0, 2),
    8: lambda upright: np.rot90(upright, -1),
}

# Every way of storing the four quarters, and how far its colours may be off.
WAYS = {
    "JPEG": ({"quality": 95, "subsampling": 0}, 8),
    "progressive JPEG": ({"quality": 95, "subsampling": 0, "progressive": True}, 8),
    "PNG": ({}, 0),
    "WebP": ({"lossless": True}, 0),
    "BMP": ({}, 0),
    "TIFF": ({}, 0),
    "TIFF with LZW": ({"compression": "tiff_lzw"}, 0),
    "TIFF with JPEG": ({"compression": "jpeg", "quality": 95}, 30),
    "GIF": ({}, 0),
    "HEIF": ({"quality": 95, "chroma": 444}, 8),
    "AVIF": ({"quality": 95, "subsampling": "4:4:4"}, 8),
    "JPEG2000": ({}, 0),
    "PPM": ({}, 0),
}
NAMES = {"HEIF": "HEIC", "JPEG2000": "JPEG 2000", "PPM": "PNM", "WEBP": "WebP"}


def file_type(way):
    """What Pillow calls it."""
    types = {"JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF", "AVIF", *NAMES}
    return next(word for word in way.upper().split() if word in types)


def name_of(way):
    """What the gateway calls it."""
    return NAMES.get(file_type(way), file_type(way))


def decode(data):
    """The pixels, in RGB."""
    return decode_page(data, LIMITS).image[..., ::-1]


def grey(*values):
    return np.array([values] * 2, np.uint8)


def corner_colors(rgb):
    height, width = rgb.shape[:2]
    places = [(height // 4, width // 4), (height // 4, width * 3 // 4)]
    places += [(height * 3 // 4, width // 4), (height * 3 // 4, width * 3 // 4)]
    return np.array([rgb[place] for place in places]).astype(int)


@pytest.mark.parametrize(("way", "options", "tolerance"), [(way, *rest) for way, rest in WAYS.items()])
def test_every_type_gives_the_colours_that_were_stored(way, options, tolerance):
    decoded = decode_page(encode(quarters(), file_type(way), **options), LIMITS)
    assert decoded.image.shape == (32, 48, 3)
    assert decoded.image.dtype == np.uint8
    assert decoded.picture.file_type == name_of(way)
    assert decoded.warnings == ()
    assert np.abs(corner_colors(decoded.image[..., ::-1]) - CORNERS).max() <= tolerance


class TestOrientation:
    @pytest.mark.parametrize("orientation", STORED)
    @pytest.mark.parametrize("way", ["JPEG", "PNG", "WebP", "TIFF", "TIFF with LZW", "TIFF with JPEG", "HEIF", "AVIF"])
    def test_it_is_applied_exactly_once(self, way, orientation):
        options, _ = WAYS[way]
        stored = np.ascontiguousarray(STORED[orientation](quarters()))
        rgb = decode(encode(stored, file_type(way), exif=with_orientation(orientation), **options))
        assert rgb.shape == (32, 48, 3)
        assert np.abs(corner_colors(rgb) - CORNERS).max() <= 30

    @pytest.mark.parametrize("orientation", [1, 6])
    @pytest.mark.parametrize("way", ["JPEG", "PNG", "WebP", "TIFF", "HEIF", "AVIF"])
    def test_the_answer_can_say_whether_it_was(self, way, orientation):
        picture = decode_page(encode(quarters(), file_type(way), exif=with_orientation(orientation)), LIMITS).picture
        assert picture.turned is (orientation == 6)

    @pytest.mark.parametrize("file_type", ["JPEG", "TIFF"])
    def test_it_is_applied_once_to_cmyk(self, file_type):
        stored = np.ascontiguousarray(STORED[6](quarters()))
        rgb = decode(encode(stored, file_type, "CMYK", exif=with_orientation(6)))
        assert rgb.shape == (32, 48, 3)
        assert np.abs(corner_colors(rgb) - CORNERS).max() <= 30

    def test_it_is_applied_once_to_the_first_of_several_pages(self):
        stored = Image.fromarray(np.ascontiguousarray(STORED[6](quarters())))
        data = encode(stored, "TIFF", save_all=True, append_images=[stored], exif=with_orientation(6))
        assert (corner_colors(decode(data)) == CORNERS).all()

    @pytest.mark.parametrize("value", [0, 9, 255])
    def test_an_unknown_value_is_ignored(self, value):
        assert (corner_colors(decode(encode(quarters(), "PNG", exif=with_orientation(value)))) == CORNERS).all()

    @pytest.mark.filterwarnings("ignore::UserWarning:PIL")
    @pytest.mark.parametrize(
        "exif", [b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0MM\0*\0\0\0\x08\xff\xff"]
    )
    def test_damaged_exif_data_are_ignored(self, exif):
        assert decode(encode(quarters(), "JPEG", exif=exif)).shape == (32, 48, 3)


class TestTransparency:
    @pytest.mark.parametrize(("file_type", "options"), [("PNG", {}), ("WEBP", {"lossless": True}), ("TIFF", {})])
    def test_black_glyphs_on_nothing_become_black_on_white(self, file_type, options):
        glyphs = np.zeros((20, 20, 4), np.uint8)
        glyphs[5:15, 5:15, 3] = 255
        rgb = decode(encode(glyphs, file_type, **options))
        assert (rgb[5:15, 5:15] == 0).all()
        assert (rgb[:5] == 255).all()

    def test_half_transparent_pixels_mix_with_white(self):
        assert decode(encode(np.full((2, 2, 4), (0, 0, 0, 51), np.uint8), "PNG"))[0, 0].tolist() == [204, 204, 204]

    def test_grey_with_alpha_is_over_white(self):
        grey_alpha = Image.merge("LA", [Image.fromarray(grey(0, 0)), Image.fromarray(grey(255, 0))])
        assert decode(encode(grey_alpha, "PNG"))[0].tolist() == [[0, 0, 0], [255, 255, 255]]

    @pytest.mark.parametrize("file_type", ["PNG", "GIF"])
    def test_a_transparent_palette_entry_is_white(self, file_type):
        palette = Image.new("P", (2, 2))
        palette.putpalette([255, 0, 0, 0, 0, 255])
        palette.putdata([0, 1, 0, 1])
        assert decode(encode(palette, file_type, transparency=0))[0].tolist() == [[255, 255, 255], [0, 0, 255]]

    def test_a_transparent_colour_is_white(self):
        data = encode(np.array([[[9, 9, 9], [200, 0, 0]]], np.uint8), "PNG", transparency=(9, 9, 9))
        assert decode(data)[0].tolist() == [[255, 255, 255], [200, 0, 0]]


class TestDepth:
    @pytest.mark.parametrize(
        ("file_type", "mode"),
        [(file_type, mode) for file_type in ("PNG", "TIFF", "BMP", "GIF") for mode in ("1", "L", "P")]
        + [("TIFF", "I"), ("TIFF", "F")],
    )
    def test_black_and_white_stay_black_and_white(self, file_type, mode):
        rgb = decode(encode(grey(0, 255), file_type, mode))
        assert rgb[0].tolist() == [[0, 0, 0], [255, 255, 255]]

    @pytest.mark.parametrize("file_type", ["PNG", "TIFF"])
    def test_16_bits_are_scaled_not_clipped(self, file_type):
        sixteen = (grey(0, 1, 127, 255).astype(np.uint16) << 8) + 77
        assert decode(encode(sixteen, file_type))[0, :, 0].tolist() == [0, 1, 127, 255]

    def test_16_bits_of_the_other_byte_order_are_the_same(self):
        sixteen = Image.fromarray((grey(0, 1, 127, 255).astype(">u2") << 8).astype(">u2"))
        assert sixteen.mode == "I;16B"
        assert decode(encode(sixteen, "TIFF"))[0, :, 0].tolist() == [0, 1, 127, 255]

    @pytest.mark.parametrize("values", [(-5.0, 0.0, 5.0), (0.0, 0.5, 1.0), (0.0, float("nan"), 0.0)])
    def test_floats_are_scaled_by_their_range(self, values):
        rgb = decode(encode(np.array([values], np.float32), "TIFF"))
        assert rgb[0, :, 0].tolist() == ([0, 0, 0] if values[0] == values[2] else [0, 127, 255])

    def test_a_print_shops_jpeg_keeps_its_colours(self):
        rgb = decode(encode(quarters(), "JPEG", "CMYK", quality=95, subsampling=0))
        assert np.abs(corner_colors(rgb) - CORNERS).max() <= 8

    def test_a_grey_jpeg_has_three_channels(self):
        rgb = decode(encode(np.full((16, 16), 90, np.uint8), "JPEG"))
        assert rgb.shape == (16, 16, 3)
        assert np.abs(rgb.astype(int) - 90).max() <= 1


class TestLimits:
    @pytest.mark.parametrize(
        ("width", "height"), [(10_000, 5_001), (20_001, 1), (1, 20_001), (60_000, 60_000), (2**31 - 1, 2**31 - 1)]
    )
    def test_too_large_an_image_is_refused_before_any_pixel_is_looked_at(self, width, height):
        with pytest.raises(ImageTooLarge) as caught:
            decode_page(png_header(width, height), LIMITS)
        assert f"{width} x {height}" in caught.value.detail
        assert "50 MP and 20000" in caught.value.detail

    def test_an_image_at_the_limit_is_served(self):
        data = encode(quarters(), "PNG")
        assert decode_page(data, DecodeLimits(max_pixels=32 * 48, max_side=48)).image.shape == (32, 48, 3)

    @pytest.mark.parametrize("limits", [DecodeLimits(max_pixels=32 * 48 - 1), DecodeLimits(max_side=47)])
    def test_one_pixel_more_is_refused(self, limits):
        with pytest.raises(ImageTooLarge, match="the image is 48 x 32 pixels"):
            decode_page(encode(quarters(), "PNG"), limits)

    def test_a_gif_whose_frame_is_larger_than_its_screen_is_judged_by_the_frame(self):
        data = bytearray(encode(quarters(8, 8), "GIF"))
        frame = data.index(b",\0\0\0\0")
        data[frame + 5 : frame + 9] = b"\xff\xff\xff\xff"
        with pytest.raises(ImageTooLarge):
            decode_page(bytes(data), LIMITS)

    def test_the_size_is_judged_before_it_is_turned(self):
        stored = np.ascontiguousarray(STORED[6](quarters()))
        data = encode(stored, "JPEG", exif=with_orientation(6))
        assert decode_page(data, DecodeLimits(max_side=48)).image.shape == (32, 48, 3)


class TestDamage:
    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
    @pytest.mark.parametrize("way", WAYS)
    def test_truncated_data_are_an_error_not_half_a_picture(self, way, share):
        pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
        data = encode(pixels, file_type(way), **WAYS[way][0])
        with pytest.raises(UnreadableImage):
            decode_page(data[: int(len(data) * share)], LIMITS)

    @pytest.mark.parametrize("missing", [1, 2, 3])
    def test_a_jpeg_without_its_end_marker_is_truncated(self, missing):
        with pytest.raises(UnreadableImage, match="the JPEG is truncated or corrupt"):
            decode_page(encode(quarters(), "JPEG")[:-missing], LIMITS)

    def test_a_png_damaged_by_a_text_transfer_is_called_a_png(self):
        with pytest.raises(UnreadableImage, match="PNG"):
            decode_page(encode(quarters(), "PNG").replace(b"\r\n", b"\n", 1), LIMITS)

    def test_what_one_decoder_refuses_and_another_takes_is_a_warning(self):
        rows = [b"\0" + bytes(12)] * 3 + [b"\x09" + bytes(12)]  # no filter has the number 9
        data = png_header(4, 4).partition(png_chunk(b"IDAT", b""))[0]
        data += png_chunk(b"IDAT", zlib.compress(b"".join(rows))) + png_chunk(b"IEND", b"")
        assert [warning.code for warning in decode_page(data, LIMITS).warnings] == ["damaged"]

    @pytest.mark.parametrize(("width", "height"), [(0, 5), (5, 0)])
    def test_an_image_without_pixels_is_unreadable(self, width, height):
        with pytest.raises(UnreadableImage):
            decode_page(png_header(width, height), LIMITS)

    @pytest.mark.filterwarnings("ignore::UserWarning:PIL")
    @pytest.mark.parametrize("way", WAYS)
    def test_whatever_happens_to_the_data_only_image_errors_come_out(self, way):
        dice = random.Random(way)
        data = encode(quarters(), file_type(way), **WAYS[way][0])
        for _ in range(300):
            damaged = damage(data, dice)
            try:
                image = decode_page(damaged, LIMITS).image
            except ImageError:
                continue
            assert image.dtype == np.uint8
            assert image.ndim == 3


def damage(data, dice):
    """`data` with a few bytes changed, removed, added, or cut off; mostly in the header."""
    damaged = bytearray(data)
    for _ in range(dice.choice([1, 1, 2, 4])):
        at = dice.randrange(min(len(damaged), 200) if dice.random() < 0.7 else len(damaged))
        change = dice.random()
        if change < 0.6:
            damaged[at] = dice.choice([0, 255, dice.randrange(256)])
        elif change < 0.8:
            damaged[at : at + dice.randrange(5)] = dice.randbytes(dice.randrange(5))
        else:
            damaged = damaged[: at + 1]
    return bytes(damaged)


class TestSeveralPictures:
    @pytest.mark.parametrize("file_type", ["GIF", "WEBP", "PNG", "AVIF", "HEIF"])
    def test_the_first_is_read_and_the_rest_counted(self, file_type):
        rest = [Image.new("RGB", (48, 32), color) for color in CORNERS[:2]]
        options = {"lossless": True} if file_type == "WEBP" else {}
        decoded = decode_page(encode(quarters(), file_type, save_all=True, append_images=rest, **options), LIMITS)
        assert np.abs(corner_colors(decoded.image[..., ::-1]) - CORNERS).max() <= 30
        assert [warning.code for warning in decoded.warnings] == ["first_page_only"]
        assert "3 pictures" in decoded.warnings[0].detail


class TestInspection:
    @pytest.mark.parametrize(("way", "options"), [(way, options) for way, (options, _) in WAYS.items()])
    def test_it_counts_those_that_decoding_gives(self, way, options):
        info = inspect_file(encode(quarters(), file_type(way), **options), LIMITS)
        assert info.file_type == name_of(way)
        assert info.page_pixels == (32 * 48,)

    @pytest.mark.parametrize(
        ("data", "error"),
        [(b"", UnsupportedImage), (b"BM", UnsupportedImage), (png_header(10_000, 10_000), ImageTooLarge)],
    )
    def test_it_refuses_what_decoding_would(self, data, error):
        for function in (inspect_file, decode_page):
            with pytest.raises(error):
                function(data, LIMITS)


@pytest.mark.parametrize("data", [b"", b"GIF", b"BM", b"RIFF", b"P9 1 1"])
def test_other_data_are_unsupported(data):
    with pytest.raises(UnsupportedImage):
        decode_page(data, LIMITS)


@pytest.mark.corpus
@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
class TestCorpus:
    def test_odd_files_are_decoded_or_refused_as_their_record_says(self, corpus):
        records = [json.loads(line) for line in (corpus / "odd.jsonl").read_text().splitlines()]
        outcomes = {record["file"]: outcome((corpus / record["file"]).read_bytes()) for record in records}
        allowed = {
            "err": {"unsupported_image", "unreadable_image"},
            "err_or_ok": {"unsupported_image", "unreadable_image", "image"},
            "ok_or_415": {"unsupported_image", "image"},
            "ok_empty": {"image", "image_too_large"},
            "ok_text": {"image"},
            "ok_text_or_empty": {"image"},
        }
        wrong = {
            record["file"]: outcomes[record["file"]]
            for record in records
            if outcomes[record["file"]] not in allowed[record["expect_class"]]
        }
        assert wrong == {}
        assert [file for file, code in outcomes.items() if code == "image_too_large"] == []

    def test_the_same_photo_in_every_orientation_has_one_size(self, corpus):
        files = sorted((corpus / "odd").glob("exif_landscape_*.jpg"))
        assert {decode(file.read_bytes()).shape for file in files} == {(1200, 1800, 3)}

    def test_both_decoders_of_jpeg_see_the_same_pixels(self, corpus):
        data = (corpus / "odd" / "baiona_color.jpg").read_bytes()
        with Image.open(io.BytesIO(data)) as picture:
            assert (decode(data) == np.asarray(picture.convert("RGB"))).all()

    def test_cmyk_looks_like_the_same_picture_in_rgb(self, corpus):
        cmyk, rgb = (decode((corpus / "odd" / f"baiona_{name}.jpg").read_bytes()) for name in ("cmyk", "color"))
        assert np.abs(cmyk.astype(int) - rgb).mean() < 20


def outcome(data):
    try:
        decode_page(data, LIMITS)
    except OcrError as error:
        return error.code
    return "image"
