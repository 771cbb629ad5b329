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

    Attributes:
        environment: for the gateway, as systemd would make it.
    """

    def __init__(self, address: Path) -> None:
        self.environment: Mapping[str, str] = {
            "NOTIFY_SOCKET": str(address),
            "WATCHDOG_USEC": str(round(1e6 * PATIENCE_S)),
        }
        self._silent = asyncio.Event()
        self._patience: asyncio.TimerHandle | None = None
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
        self._patience = asyncio.get_running_loop().call_later(PATIENCE_S, self._silent.set)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
