"""An orderly end of a connection (RFC 9112, 9.6)."""

import asyncio
from collections.abc import Callable

LINGER_S = 1.0
"""How long a client may go on sending what nobody will read."""

FLUSH_S = 30.0
"""How long a client may take to fetch the rest of its last answer."""


class LingeringTransport(asyncio.Transport):
    """A server's transport whose `close` does not cost the client its last answer.

    A connection that is closed while the client is still sending is reset, and the reset may overtake the answer. So
    at first only our side is closed, what comes is thrown away, and the rest follows when the client has closed, too.
    Neither lasts for ever: a client that goes on sending, or does not fetch its answer, is cut.
    """

    def __init__(self, transport: asyncio.Transport, unread: Callable[[], bool]) -> None:
        """Wrap a transport.

        Args:
            transport: asyncio's or uvloop's.
            unread: whether the client may still be sending.
        """
        super().__init__()
        self._transport = transport
        self._unread = unread
        self._closing = False
        self._cut: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Begin the end."""
        if self.is_closing():
            return
        self._closing = True
        lingers = self._unread() and self._transport.can_write_eof()
        if lingers:
            self._transport.write_eof()
            self._transport.resume_reading()
        else:
            self._transport.close()
        self._cut = asyncio.get_running_loop().call_later(LINGER_S if lingers else FLUSH_S, self._transport.abort)

    def lost(self) -> None:
        """Note that the connection is gone."""
        self._closing = True
        if self._cut:
            self._cut.cancel()

    def is_closing(self) -> bool:
        """Whether the end has begun."""
        return self._closing or self._transport.is_closing()

    def abort(self) -> None:
        """Cut the connection now."""
        self._transport.abort()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send, in time."""
        self._transport.write(data)

    def pause_reading(self) -> None:
        """Let the client wait; not while what it sends is thrown away."""
        if not self._closing:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Let the client go on."""
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: object = None) -> object:
        """As asyncio has it."""
        return self._transport.get_extra_info(name, default)
