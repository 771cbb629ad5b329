"""A decoder process: answers questions about files until the gateway hangs up. Started by `gateway.decoders.process`.

It may die at any time, of a crash in a decoder, of its limits or of a signal: that costs the gateway one answer.
"""

import mmap
import os
import resource
import signal
import socket
import sys

from gateway.decoders.messages import BEGUN, MAX_PACKET_BYTES, READY, Answer, Question, answer_parts
from gateway.decoders.shared_memory import share
from gateway.errors import ImageError, ImageTooLarge
from gateway.ocr.decoding.files import decode_page, inspect_file

_OPEN_FILES = 64


def main(descriptor: int, memory_bytes: int, timeout_s: int) -> None:
    """Answer on a socket.

    Args:
        descriptor: of the socket.
        memory_bytes: of addresses, that the process may have.
        timeout_s: after which it ends itself over one question; the gateway, if it is there, is quicker.
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    with socket.socket(fileno=descriptor) as gateway:
        gateway.send(READY)
        while _answer_next(gateway, timeout_s):
            pass


def _answer_next(gateway: socket.socket, timeout_s: int) -> bool:
    """Answer a question; False at the end."""
    packet, descriptors, _, _ = socket.recv_fds(gateway, MAX_PACKET_BYTES, 1)
    if not packet:
        return False
    gateway.send(BEGUN)
    signal.alarm(timeout_s)
    data = _read(descriptors[0])
    head, parts = answer_parts(_answer(Question.parse(packet), data))
    memory = share(parts)
    socket.send_fds(gateway, [head], [memory])
    os.close(memory)
    signal.alarm(0)
    return True


def _read(descriptor: int) -> bytes:
    with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as data:
        os.close(descriptor)
        return data[:]


def _answer(question: Question, data: bytes) -> Answer:
    try:
        if question.task == "inspect":
            return inspect_file(data, question.limits, question.options)
        return decode_page(data, question.limits, question.number, question.options)
    except ImageError as error:
        return error
    except MemoryError:
        return ImageTooLarge("decoding it takes more memory than one image is given")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
