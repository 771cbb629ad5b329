"""Signs of life for systemd, which kills and restarts a service that gives none (`WatchdogSec=`; sd_notify(3)).

An event loop that stands still can't notice that by itself, and a proxy without active checks notices when its longest
patience is over. The signs come from the event loop that answers requests, so they end with it.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Mapping

SIGNS = 4
"""So many within the time after which systemd acts."""

READY, ALIVE = b"READY=1", b"WATCHDOG=1"

logger = logging.getLogger(__name__)


async def give_signs_of_life(environment: Mapping[str, str]) -> None:
    """Say that the service runs, then that it still does, until cancelled; nothing if nobody wants to know.

    Args:
        environment: as systemd makes it.
    """
    if "NOTIFY_SOCKET" not in environment:
        return
    address = environment["NOTIFY_SOCKET"]
    if address.startswith("@"):  # Linux's abstract namespace
        address = f"\0{address[1:]}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        _send(sender, READY, address)
        while interval_s := sign_interval_s(environment):
            _send(sender, ALIVE, address)
            await asyncio.sleep(interval_s)


def sign_interval_s(environment: Mapping[str, str]) -> float:
    """Seconds from sign to sign; 0 if this process is not watched."""
    own = str(os.getpid())
    if environment.get("WATCHDOG_PID", own) != own:
        return 0.0
    return int(environment.get("WATCHDOG_USEC", "0")) / 1e6 / SIGNS


def _send(sender: socket.socket, sign: bytes, address: str) -> None:
    """Send it if it can be: a service does not end because nobody listens."""
    try:
        sender.sendto(sign, address)
    except OSError as error:
        logger.warning("no sign of life could be given to systemd: %s", error)
