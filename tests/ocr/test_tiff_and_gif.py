import struct
from contextlib import nullcontext

import numpy as np
import pytest
from made_images import encode, quarters
from PIL import Image

from gateway.errors import UnreadableImage
from gateway.ocr.decoding.gif import count_frames
from gateway.ocr.decoding.tiff import page_offsets, page_size, with_first


def several(count, file_type):
    pictures = [Image.fromarray(np.roll(quarters(8, 8), index, axis=1)) for index in range(count)]
    return encode(pictures[0], file_type, save_all=True, append_images=pictures[1:])


def tiff_chain(*links, order="<", big=False):
    """Directories without entries, each of which names the offset of the next."""
    magic, entries, link = (43, "Q", "Q") if big else (42, "H", "I")
    head = {"<": b"II", ">": b"MM"}[order] + struct.pack(order + "H", magic)
    head += struct.pack(order + "HHQ", 8, 0, links[0]) if big else struct.pack(order + "I", links[0])
    return head + b"".join(struct.pack(order + entries, 0) + struct.pack(order + link, to) for to in links[1:])


class TestTiffPages:
    @pytest.mark.parametrize("order", ["<", ">"])
    @pytest.mark.parametrize("big", [False, True])
    def test_the_chain_is_followed_in_every_byte_order_and_width(self, order, big):
        first, step = (16, 16) if big else (8, 6)
        assert page_offsets(tiff_chain(first, first + step, 0, order=order, big=big)) == (first, first + step)

    def test_a_chain_in_a_circle_ends(self):
        assert page_offsets(tiff_chain(8, 14, 8)) == (8, 14)

    def test_a_chain_that_leaves_the_file_ends_there(self):
        assert page_offsets(tiff_chain(8, 1_000_000)) == (8,)

    @pytest.mark.parametrize(("pages", "allowed"), [(5_000, True), (5_001, False), (20_000, False)])
    def test_a_chain_without_end_is_refused(self, pages, allowed):
        chain = tiff_chain(*(8 + 6 * index for index in range(pages)), 0)
        with nullcontext() if allowed else pytest.raises(UnreadableImage, match="more than 5,000 pages"):
            assert len(page_offsets(chain)) == pages

    @pytest.mark.parametrize("cut", [4, 7, 9])
    def test_a_file_that_ends_in_its_head_has_none(self, cut):
        assert page_offsets(tiff_chain(8, 0)[:cut]) == ()

    @pytest.mark.parametrize("options", [{}, {"big_tiff": True}])
    def test_each_page_says_its_size_without_being_decoded(self, options):
        pages = [Image.new("L", (width, 5)) for width in (3, 70_000, 7)]
        data = encode(pages[0], "TIFF", save_all=True, append_images=pages[1:], **options)
        assert [page_size(data, offset) for offset in page_offsets(data)] == [(3, 5), (70_000, 5), (7, 5)]

    def test_a_directory_without_a_size_has_none(self):
        assert page_size(tiff_chain(8, 0), 8) == (0, 0)

    def test_any_page_can_be_made_the_first_of_the_same_file(self):
        data = several(3, "TIFF")
        offsets = page_offsets(data)
        assert page_offsets(with_first(data, offsets[2])) == (offsets[2],)
        assert with_first(data, offsets[0]) == data


class TestGifFrames:
    @pytest.mark.parametrize("count", [1, 2, 5])
    def test_they_are_counted(self, count):
        assert count_frames(several(count, "GIF")) == count

    @pytest.mark.parametrize("cut", [6, 10, 13, 40])
    def test_data_that_end_early_count_as_one(self, cut):
        assert count_frames(several(3, "GIF")[:cut]) == 1

    def test_blocks_without_end_are_cut(self):
        data = b"GIF89a" + bytes(7) + b"!\xfe\0" * 1_500_000 + several(1, "GIF")[13:]
        assert count_frames(data) == 1
