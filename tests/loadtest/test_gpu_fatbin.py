"""The GPU code of a library is cut down to one generation, and nothing else in it moves."""

import struct

import pytest

from loadtest.gpu.fatbin import FatbinError, prune


def entry(generation: int, code: bytes) -> bytes:
    header = bytearray(64)
    struct.pack_into("<HHIQ", header, 0, 2, 0, len(header), len(code))
    struct.pack_into("<I", header, 28, generation)
    return bytes(header) + code


def container(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def library(section: bytes, *, name: bytes = b".nv_fatbin") -> bytes:
    """An ELF64 file with three section headers: none, names, and the section."""
    names = b"\0.shstrtab\0" + name + b"\0"
    body_at = 64
    names_at = body_at + len(section)
    table_at = names_at + len(names)
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<Q", header, 40, table_at)
    struct.pack_into("<HHH", header, 58, 64, 3, 1)

    def section_header(name_offset: int, start: int, size: int) -> bytes:
        return struct.pack("<IIQQQQ", name_offset, 1, 0, 0, start, size).ljust(64, b"\0")

    table = section_header(0, 0, 0) + section_header(1, names_at, len(names))
    return bytes(header) + section + names + table + section_header(11, body_at, len(section))


KEPT, OTHER, SPECIAL = b"K" * 24, b"O" * 40, b"S" * 16


def test_code_of_other_generations_becomes_zeros_and_the_rest_stays():
    before = library(container(entry(80, OTHER), entry(90, KEPT)))
    pruned = prune(before, 90)
    assert pruned.data == before.replace(OTHER, bytes(len(OTHER)))
    assert (pruned.kept, pruned.zeroed) == (len(KEPT), len(OTHER))


def test_containers_that_follow_after_padding_are_pruned_too():
    before = library(container(entry(80, OTHER)) + bytes(8) + container(entry(90, KEPT), entry(75, OTHER)))
    pruned = prune(before, 90)
    assert OTHER not in pruned.data
    assert KEPT in pruned.data


def test_code_for_one_generation_alone_goes_if_it_is_not_wanted():
    before = library(container(entry(90, SPECIAL)) + container(entry(80, OTHER), entry(90, KEPT)))
    assert SPECIAL in prune(before, 90).data
    pruned = prune(before, 90, keep_special=False)
    assert SPECIAL not in pruned.data
    assert KEPT in pruned.data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a 64-bit"),
        (b"\x7fELF\x01\x01" + bytes(60), "not a 64-bit"),
        (library(b"", name=b".text"), "no section"),
    ],
)
def test_a_file_without_gpu_code_is_refused(data, reason):
    with pytest.raises(FatbinError, match=reason):
        prune(data, 90)
