"""How long a request had waited in the kernel's queue when the event loop took it.

It had come, and its deadline ran, while the loop was busy with others. Linux tells when the last data
came (`struct tcp_info` of linux/tcp.h); elsewhere nothing is known, and nothing is counted.
"""

import asyncio
import socket
import struct

_TCP_INFO = getattr(socket, "TCP_INFO", None)
_BYTES = 104
_LAST_DATA_RECEIVED_MS = struct.Struct("=I")
_OFFSET = 52


def waited_s(transport: asyncio.BaseTransport) -> float:
    """Seconds since the client last sent anything on this connection, that is new to us."""
    connection = transport.get_extra_info("socket")
    if _TCP_INFO is None or connection is None or connection.family not in (socket.AF_INET, socket.AF_INET6):
        return 0.0
    try:
        information = connection.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _BYTES)
        (milliseconds,) = _LAST_DATA_RECEIVED_MS.unpack_from(information, _OFFSET)
    except (OSError, struct.error):  # it was reset meanwhile; or a kernel that says less
        return 0.0
    return float(milliseconds) / 1000
