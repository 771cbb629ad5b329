"""A multipart/form-data body, parsed as it arrives: files and fields, kept in memory and bounded.

Starlette's form parser would spool files to disk.
"""

import reprlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from gateway.errors import InvalidRequest
from gateway.web.body import Body
from gateway.web.options import OptionSource

_MAX_FIELDS = 32
"""Every option once, and some room."""

_MAX_FIELD_BYTES = 1000
"""An option's value is a few digits."""

_EXAMPLE = "as in: curl -F file=@photo.jpg -F min_score=0.5"


@dataclass(slots=True)
class _Part:
    name: str = ""
    is_file: bool = False
    content: bytearray = field(default_factory=bytearray)


class FormParser:
    """Feed it chunks, then `finish`. Raises InvalidRequest as soon as something is wrong."""

    def __init__(self, content_type: str, *, max_files: int, file_names: Sequence[str] = ("file",)) -> None:
        boundary = parse_options_header(content_type)[1].get(b"boundary")
        if not boundary:
            raise InvalidRequest(f"the multipart Content-Type names no boundary; let the client set it, {_EXAMPLE}")
        self._max_files = max_files
        self._file_names = file_names
        self._parts: list[_Part] = []
        self._header_name = b""
        self._header_value = b""
        self._disposition = b""
        self._ended = False
        self._parser = self._new_parser(boundary)

    def feed(self, chunk: bytes) -> None:
        """Take the next piece of the body."""
        try:
            self._parser.write(chunk)
        except FormParserError as error:
            raise InvalidRequest(f"the multipart body is broken: {error}") from error

    def finish(self) -> Body:
        """The form, once everything has been fed."""
        named, options = self.finish_named()
        return Body(tuple(data for _, data in named), options)

    def finish_named(self) -> tuple[list[tuple[str, bytes]], OptionSource]:
        """The files with the names of their parts, and the other parts."""
        if not self._ended:
            raise InvalidRequest("the multipart body ends before its closing boundary; send it whole")
        files = [part for part in self._parts if part.is_file]
        _check_files(files, self._max_files, self._file_names)
        options = tuple((part.name, _text(part)) for part in self._parts if not part.is_file)
        return [(part.name, bytes(part.content)) for part in files], OptionSource("form", options)

    def _new_parser(self, boundary: bytes) -> MultipartParser:
        try:
            return MultipartParser(
                boundary,
                {
                    "on_part_begin": self._on_part_begin,
                    "on_header_field": self._on_header_field,
                    "on_header_value": self._on_header_value,
                    "on_header_end": self._on_header_end,
                    "on_headers_finished": self._on_headers_finished,
                    "on_part_data": self._on_part_data,
                    "on_end": self._on_end,
                },
            )
        except FormParserError as error:
            raise InvalidRequest(f"the multipart Content-Type is broken: {error}") from error

    def _on_part_begin(self) -> None:
        most = _MAX_FIELDS + self._max_files
        if len(self._parts) == most:
            raise InvalidRequest(
                f"the multipart body has more than {most} parts; send up to {self._max_files} files and the options"
            )
        self._parts.append(_Part())
        self._disposition = b""

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def _on_header_end(self) -> None:
        if self._header_name.lower() == b"content-disposition":
            self._disposition = self._header_value
        self._header_name = self._header_value = b""

    def _on_headers_finished(self) -> None:
        _, parameters = parse_options_header(self._disposition)
        part = self._parts[-1]
        part.name = parameters.get(b"name", b"").decode(errors="replace")
        if not part.name:
            raise InvalidRequest(
                f"a part of the multipart body has no name in its Content-Disposition; send {_EXAMPLE}"
            )
        part.is_file = part.name in self._file_names or b"filename" in parameters

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        part = self._parts[-1]
        part.content += memoryview(data)[start:end]
        if not part.is_file and len(part.content) > _MAX_FIELD_BYTES:
            name = reprlib.repr(part.name)
            raise InvalidRequest(
                f"the field {name} is longer than {_MAX_FIELD_BYTES} bytes; is it the file? {_EXAMPLE}"
            )

    def _on_end(self) -> None:
        self._ended = True


async def read_form(content_type: str, chunks: AsyncIterator[bytes], *, max_files: int) -> Body:
    """Read and parse a form.

    Raises:
        InvalidRequest: no boundary, broken framing, no file or too many, a nameless or overlong field, too many parts.
    """
    parser = FormParser(content_type, max_files=max_files)
    async for chunk in chunks:
        parser.feed(chunk)
    return parser.finish()


def _check_files(files: list[_Part], max_files: int, names: Sequence[str]) -> None:
    misnamed = [part.name for part in files if part.name not in names]
    example = f"as in: curl -F {names[0]}=@photo.jpg"
    if misnamed:
        raise InvalidRequest(f"a file part must be named {names[0]!r}, not {reprlib.repr(misnamed[0])}, {example}")
    if not 1 <= len(files) <= max_files:
        raise InvalidRequest(
            f"the multipart body must have one to {max_files} parts named {names[0]!r}, not {len(files)}, {example}"
        )
    empty = [number for number, part in enumerate(files, start=1) if not part.content]
    if empty:
        raise InvalidRequest(f"file part {empty[0]} is empty; send the image's bytes in it")


def _text(part: _Part) -> str:
    try:
        return part.content.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the field {reprlib.repr(part.name)} is not UTF-8") from error
