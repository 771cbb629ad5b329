"""Work that ends when nobody waits for it any more.

Starlette notices that a client has left only when it sends, and an answer is sent when all work is done. So the
connection is watched while the work goes on.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

T = TypeVar("T")


CLIENT_CLOSED = 499
"""The status, for the log and the metrics (nginx's number for this)."""


class ClientClosed(Exception):
    """The client closed the connection; there is nobody to answer."""


async def while_connected(work: Coroutine[Any, Any, T], receive: Receive) -> T:
    """The result of `work`, which is cancelled if the client leaves first. The body must have been read.

    Raises:
        ClientClosed: the client has left, and the work has ended.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientClosed
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
