import asyncio

import pytest

from gateway.web.disconnect import ClientClosed, while_connected

GONE = {"type": "http.disconnect"}


class Connection:
    """A client that leaves when told to."""

    def __init__(self):
        self.left = asyncio.Event()
        self.watched = 0

    async def receive(self):
        self.watched += 1
        try:
            await self.left.wait()
        finally:
            self.watched -= 1
        return GONE


class Work:
    def __init__(self):
        self.may_end = asyncio.Event()
        self.ended = None

    async def do(self):
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            self.ended = "cancelled"
            raise
        self.ended = "done"
        return 7


async def test_the_result_is_returned_and_the_connection_no_longer_watched():
    connection, work = Connection(), Work()
    work.may_end.set()
    assert await while_connected(work.do(), connection.receive) == 7
    assert connection.watched == 0


async def test_an_error_of_the_work_is_raised_as_it_is():
    async def fail():
        raise KeyError("x")

    connection = Connection()
    with pytest.raises(KeyError, match="x"):
        await while_connected(fail(), connection.receive)
    assert connection.watched == 0


async def test_when_the_client_leaves_the_work_has_ended_before_it_is_said():
    connection, work = Connection(), Work()
    asyncio.get_running_loop().call_soon(connection.left.set)
    with pytest.raises(ClientClosed):
        await while_connected(work.do(), connection.receive)
    assert work.ended == "cancelled"


async def test_work_that_is_done_when_the_client_leaves_counts():
    connection, work = Connection(), Work()
    work.may_end.set()
    connection.left.set()
    assert await while_connected(work.do(), connection.receive) == 7


async def test_a_late_piece_of_the_body_is_not_a_departure():
    messages = [{"type": "http.request", "body": b""}]
    connection, work = Connection(), Work()

    async def receive():
        return messages.pop() if messages else await connection.receive()

    asyncio.get_running_loop().call_later(0.01, work.may_end.set)
    assert await while_connected(work.do(), receive) == 7


async def test_when_the_request_itself_is_cancelled_nothing_goes_on():
    connection, work = Connection(), Work()
    request = asyncio.create_task(while_connected(work.do(), connection.receive))
    await asyncio.sleep(0.01)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert work.ended == "cancelled"
    assert connection.watched == 0
