"""The file structure of PDF (ISO 32000-1, 7.5): numbered objects, their table, and the trailer."""

import zlib
from collections.abc import Mapping, Sequence

HEADER = b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n"
"""The second line tells programs that the file is not text."""


class PdfObjects:
    """The objects of one file, in the order of their numbers, from 1."""

    def __init__(self) -> None:
        self._bodies: list[bytes | None] = []

    def reserve(self) -> int:
        """The number of an object that is put later."""
        self._bodies.append(None)
        return len(self._bodies)

    def put(self, number: int, body: bytes) -> int:
        """Give a reserved object its body."""
        assert self._bodies[number - 1] is None, f"object {number} has a body already"
        self._bodies[number - 1] = body
        return number

    def add(self, body: bytes) -> int:
        """A new object; its number."""
        return self.put(self.reserve(), body)

    def add_stream(self, data: bytes, entries: Mapping[str, bytes] = {}, *, compress: bool = True) -> int:
        """A new stream; its number. Data that is compressed already is kept as it is."""
        packed = zlib.compress(data) if compress else data
        packing = {"Filter": b"/FlateDecode"} if compress else {}
        head = dictionary({**entries, **packing, "Length": number_of(len(packed))})
        return self.add(head + b"\nstream\n" + packed + b"\nendstream")

    def finish(self, *, root: int, info: int) -> bytes:
        """The file.

        Args:
            root: number of the catalog.
            info: number of the information about the document.
        """
        parts, offsets, at = [HEADER], [], len(HEADER)
        for number, body in enumerate(self._bodies, 1):
            assert body is not None, f"object {number} has no body"
            offsets.append(at)
            parts.append(b"%d 0 obj\n%b\nendobj\n" % (number, body))
            at += len(parts[-1])
        trailer = dictionary({"Size": number_of(len(offsets) + 1), "Root": reference(root), "Info": reference(info)})
        return b"".join([*parts, _table(offsets), b"trailer\n", trailer, b"\nstartxref\n%d\n%%%%EOF\n" % at])


def _table(offsets: Sequence[int]) -> bytes:
    """The cross-reference table; each entry has 20 bytes, its end included."""
    entries = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return b"xref\n0 %d\n0000000000 65535 f \n" % (len(offsets) + 1) + entries


def reference(number: int) -> bytes:
    """What stands for an object elsewhere."""
    return b"%d 0 R" % number


def dictionary(entries: Mapping[str, bytes]) -> bytes:
    """Names and values."""
    return b"<< " + b" ".join(b"/%b %b" % (name.encode(), value) for name, value in entries.items()) + b" >>"


def array(values: Sequence[bytes]) -> bytes:
    """Values in order."""
    return b"[" + b" ".join(values) + b"]"


def number_of(value: float) -> bytes:
    """A number, to a thousandth."""
    return f"{value:.3f}".rstrip("0").rstrip(".").encode()


def text_of(text: str) -> bytes:
    """A text string, in UTF-16 with its mark."""
    return b"<" + ("\ufeff" + text).encode("utf-16-be", "replace").hex().encode() + b">"
