"""The memory of a gateway and its decoder processes, several times a second."""

import threading
import time
from types import TracebackType
from typing import Self

import psutil

EVERY_S = 0.2


class MemoryWatch:
    """Looks for as long as its block lasts.

    Args:
        port: that the gateway listens on.

    Attributes:
        samples: seconds since the start, and resident bytes of all processes together.
    """

    def __init__(self, port: int) -> None:
        self.samples: list[tuple[float, int]] = []
        self._gateway = _listener(port)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def processor_s(self) -> float:
        """What all of them have used so far."""
        times = [process.cpu_times() for process in self._processes()]
        return sum(one.user + one.system for one in times)

    def _look(self) -> None:
        while not self._ended.wait(EVERY_S):
            self.samples.append((time.monotonic() - self._started, self._bytes()))

    def _bytes(self) -> int:
        total = 0
        for process in self._processes():
            try:
                total += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        return total

    def _processes(self) -> list[psutil.Process]:
        return [self._gateway, *self._gateway.children()]


def _listener(port: int) -> psutil.Process:
    """The process that listens on a port."""
    for connection in psutil.net_connections("tcp"):
        if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port and connection.pid:
            return psutil.Process(connection.pid)
    raise LookupError(f"nobody listens on port {port}")
