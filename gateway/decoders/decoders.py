"""Opens files: decides where each is decoded, and hides it."""

import os
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from gateway.concurrency import CpuPool
from gateway.deadline import Deadline
from gateway.decoders.messages import Question
from gateway.decoders.pool import DecoderPool
from gateway.decoders.shared_memory import share
from gateway.errors import DecoderFailed
from gateway.ocr.decoding.files import OpenPicture, decode_page, decode_picture, inspect_file, open_picture
from gateway.ocr.decoding.formats import ISOLATED, identify
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.decoding.picture import Decoded, FileInfo
from gateway.ocr.options import DocumentOptions

T = TypeVar("T")


class OpenFile(Protocol):
    """A file whose header has been read. Close it."""

    @property
    def info(self) -> FileInfo:
        """What its header says."""

    async def decode(self, number: int, *, deadline: Deadline) -> Decoded:
        """One page, which counts from 1.

        Raises:
            ImageError: it can't be decoded.
            DeadlineExceeded, Overloaded: the deadline passed.
        """

    def close(self) -> None:
        """Give back what it holds."""


@dataclass(frozen=True, slots=True)
class Decoders:
    """Where files are decoded. One for the whole service.

    Attributes:
        pool: of threads.
        limits: of an image.
        processes: for the types that are isolated; None where there can be none.
    """

    pool: CpuPool
    limits: DecodeLimits
    processes: DecoderPool | None = None

    async def open(self, data: bytes, options: DocumentOptions, *, deadline: Deadline) -> OpenFile:
        """Open a file. Nothing of it is decoded yet.

        Raises:
            ImageError: it can't be served.
            DeadlineExceeded, Overloaded: the deadline passed.
        """
        if identify(data) not in ISOLATED:
            opened = await self.pool.run(open_picture, data, self.limits, deadline=deadline)
            return _PictureForThreads(opened.info, opened, self)
        if self.processes is not None:
            return await _FileForProcesses.open(data, self.processes, self.limits, options, deadline)
        info = await self.pool.run(inspect_file, data, self.limits, options, deadline=deadline)
        return _FileForThreads(info, data, self, options)


@dataclass(frozen=True, slots=True)
class _PictureForThreads:
    """Of the frequent types, which have one page: its header is read once."""

    info: FileInfo
    opened: OpenPicture
    decoders: Decoders

    async def decode(self, number: int, *, deadline: Deadline) -> Decoded:  # noqa: ARG002 - there is only page 1
        return await self.decoders.pool.run(decode_picture, self.opened, self.decoders.limits, deadline=deadline)

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _FileForThreads:
    """Of the other types, where there are no processes."""

    info: FileInfo
    data: bytes
    decoders: Decoders
    options: DocumentOptions

    async def decode(self, number: int, *, deadline: Deadline) -> Decoded:
        arguments = (self.data, self.decoders.limits, number, self.options)
        return await self.decoders.pool.run(decode_page, *arguments, deadline=deadline)

    def close(self) -> None:
        pass


@dataclass(slots=True)
class _FileForProcesses:
    """Its bytes are in shared memory, so that every page may be decoded in another process."""

    processes: DecoderPool
    limits: DecodeLimits
    options: DocumentOptions
    descriptor: int
    info: FileInfo = field(default=FileInfo("", ()))

    @classmethod
    async def open(
        cls, data: bytes, processes: DecoderPool, limits: DecodeLimits, options: DocumentOptions, deadline: Deadline
    ) -> OpenFile:
        file = cls(processes, limits, options, share([memoryview(data)]))
        try:
            answer = await processes.ask(Question("inspect", limits, options), file.descriptor, deadline=deadline)
            file.info = _expect(FileInfo, answer)
        except BaseException:
            file.close()
            raise
        return file

    async def decode(self, number: int, *, deadline: Deadline) -> Decoded:
        question = Question("decode", self.limits, self.options, number)
        return _expect(Decoded, await self.processes.ask(question, self.descriptor, deadline=deadline))

    def close(self) -> None:
        os.close(self.descriptor)


def _expect(kind: type[T], answer: object) -> T:
    if not isinstance(answer, kind):
        raise DecoderFailed("the decoder answered another question")
    return answer
