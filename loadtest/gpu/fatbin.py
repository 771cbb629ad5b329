"""Takes the machine code of all GPUs but one out of a CUDA library, so that it compresses to a fraction.

nvcc puts the code for every GPU generation into one ELF section, `.nv_fatbin`: containers, each holding one entry a
generation. Entries that are not wanted are overwritten with zeros; every offset stays what it was, so nothing else in
the file has to change. The layout of containers and entries is NVIDIA's and undocumented; it was read off files made
by nvcc 13.0:

    container   u32 magic, u16 version, u16 header size, u64 size of all entries
    entry       u16 kind, u16, u32 header size, u64 size of the code, ..., at byte 28: u32 generation (90: sm_90)
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

SECTION = ".nv_fatbin"
MAGIC = 0xBA55ED50
_CONTAINER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQ")
_GENERATION_OFFSET = 28
_ALIGNMENT = 8


class FatbinError(Exception):
    """The file is no 64-bit ELF library with GPU code."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The code for one generation of GPUs.

    Attributes:
        generation: such as 90 for sm_90.
        start, size: of the code in the file, bytes.
    """

    generation: int
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Pruned:
    """A library with less GPU code.

    Attributes:
        data: the file, as long as before.
        kept, zeroed: bytes of GPU code.
    """

    data: bytes
    kept: int
    zeroed: int


def prune(library: bytes, generation: int, *, keep_special: bool = True) -> Pruned:
    """Leave only the code for one generation.

    Args:
        library: a shared library.
        generation: such as 90.
        keep_special: whether to keep code that exists for this generation alone. In ONNX Runtime's library that is
            the attention of large language models, which OCR does not run.

    Raises:
        FatbinError: there is no GPU code in it.
    """
    data = bytearray(library)
    kept = zeroed = 0
    for entries in containers(library):
        special = {entry.generation for entry in entries} == {generation}
        for entry in entries:
            if entry.generation == generation and (keep_special or not special):
                kept += entry.size
                continue
            data[entry.start : entry.start + entry.size] = bytes(entry.size)
            zeroed += entry.size
    return Pruned(bytes(data), kept, zeroed)


def containers(library: bytes) -> Iterator[list[Entry]]:
    """The entries of each container, in the order of the file.

    Raises:
        FatbinError: there is no GPU code in it.
    """
    position, end = _section(library, SECTION)
    while position + _CONTAINER.size <= end:
        magic, _, header_size, size = _CONTAINER.unpack_from(library, position)
        if magic != MAGIC:
            position += _ALIGNMENT
            continue
        start = position + header_size
        position = start + size
        yield list(_entries(library, start, position))


def _entries(library: bytes, position: int, end: int) -> Iterator[Entry]:
    while position < end:
        _, _, header_size, size = _ENTRY.unpack_from(library, position)
        (generation,) = struct.unpack_from("<I", library, position + _GENERATION_OFFSET)
        yield Entry(generation, position + header_size, size)
        position += header_size + size


def _section(library: bytes, name: str) -> tuple[int, int]:
    """Where a section of a little-endian ELF64 file begins and ends."""
    if library[:6] != b"\x7fELF\x02\x01":
        raise FatbinError("not a 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", library, 40)
    size, count, names_index = struct.unpack_from("<HHH", library, 58)
    headers = [struct.unpack_from("<IIQQQQ", library, table + index * size) for index in range(count)]
    names_start = headers[names_index][4]
    for name_offset, _, _, _, offset, length in headers:
        start = names_start + name_offset
        if library[start : library.index(b"\0", start)] == name.encode():
            return offset, offset + length
    raise FatbinError(f"the library has no section {name}")
