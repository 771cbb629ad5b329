"""What systemd does with `WatchdogSec=` in deploy/systemd: notices that a gateway gives no sign of life any more."""

import asyncio
import socket
from collections.abc import Mapping
from pathlib import Path

PATIENCE_S = 4.0


class Watchdog:
    """Hears the signs of life of one gateway; to be made on a running event loop, and closed.

    Args:
        address: of the socket that it makes, a path.
        patience_s: how long it waits for the next sign, once there was one.

    Attributes:
        environment: for the gateway, as systemd would make it.
    """

    def __init__(self, address: Path, patience_s: float = PATIENCE_S) -> None:
        self.environment: Mapping[str, str] = {
            "NOTIFY_SOCKET": str(address),
            "WATCHDOG_USEC": str(round(1e6 * patience_s)),
        }
        self._patience_s = patience_s
        self._silent = asyncio.Event()
        self._waiting: asyncio.TimerHandle | None = None
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.bind(str(address))
        asyncio.get_running_loop().add_reader(self._socket, self._hear)

    async def lose_patience(self) -> None:
        """Return when there has been no sign of life for too long."""
        await self._silent.wait()

    def close(self) -> None:
        """Hear no more."""
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        self._stop_waiting()

    def _hear(self) -> None:
        self._socket.recv(100)
        self._stop_waiting()
        self._waiting = asyncio.get_running_loop().call_later(self._patience_s, self._silent.set)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
