"""The gate for tasks: waiting for a turn, and a permit that gives back what it holds."""

import asyncio
import time

from starlette.types import Message, Receive, Scope

from gateway import metrics
from gateway.errors import Overloaded
from gateway.web.gate import Gate
from gateway.web.tickets import Priority, Ticket

PATIENCE_S = 0.25
"""An upload that takes longer is parked."""

_KEY = "ocr.permit"


class Permit:
    """A request's right to be worked on: made by admission, given back when the answer has been sent."""

    def __init__(self, permits: "Permits", ticket: Ticket) -> None:
        self._permits = permits
        self._ticket = ticket
        self._parking = asyncio.get_running_loop().call_later(PATIENCE_S, permits.park, ticket)

    def counting(self, receive: Receive) -> Receive:
        """A `receive` that counts the body; if that takes long to come, the request is parked meanwhile."""

        async def counted_receive() -> Message:
            message = await receive()
            self._permits.count(self._ticket, len(message.get("body", b"")))
            if not message.get("more_body", False):
                self._parking.cancel()
            return message

        return counted_receive

    async def settle(self, pixels: int) -> None:
        """Exchange the guess from the length of the body for the number of pixels that the image has.

        Raises:
            Overloaded: it needs more than it holds, and there was no room in time.
        """
        self._parking.cancel()
        await self._permits.settle(self._ticket, pixels)

    def progress(self) -> None:
        """Note that a page has been read."""
        self._permits.progress(self._ticket)

    def release(self, *, done: bool) -> None:
        """Give everything back.

        Args:
            done: whether the image was read.
        """
        self._parking.cancel()
        self._permits.leave(self._ticket, done=done)


class Permits:
    """Gives permits as the gate decides, and wakes the tasks that it lets in."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._turns: dict[Ticket, asyncio.Event] = {}

    async def acquire(self, *, pixels: int, priority: Priority, timeout_s: float) -> Permit:
        """A permit for a new request, after a short wait if need be.

        Raises:
            Overloaded: too many wait, or none was to be had in time.
        """
        ticket = self._ask(pixels, priority, timeout_s)
        await self._turn(ticket, "waited")
        metrics.ADMITTED.labels(priority).inc()
        return Permit(self, ticket)

    async def settle(self, ticket: Ticket, pixels: int) -> None:
        """See `Permit.settle`."""
        self._wake(self._gate.settle(ticket, pixels))
        await self._turn(ticket, "settling")

    def count(self, ticket: Ticket, size: int) -> None:
        """Count bytes of the body.

        Raises:
            Overloaded: slow uploads hold too many.
        """
        try:
            self._gate.uploaded(ticket, size)
        except Overloaded:
            metrics.REFUSED.labels("slow_uploads").inc()
            raise

    def park(self, ticket: Ticket) -> None:
        """Let others have the place of a slow upload."""
        self._wake(self._gate.park(ticket))

    def progress(self, ticket: Ticket) -> None:
        """See `Permit.progress`."""
        self._gate.progress(ticket)

    def leave(self, ticket: Ticket, *, done: bool) -> None:
        """See `Permit.release`."""
        self._wake(self._gate.leave(ticket, done=done))

    def _ask(self, pixels: int, priority: Priority, timeout_s: float) -> Ticket:
        try:
            return self._gate.ask(pixels=pixels, priority=priority, timeout_s=timeout_s)
        except Overloaded:
            metrics.REFUSED.labels("line_full").inc()
            raise

    async def _turn(self, ticket: Ticket, reason: str) -> None:
        """Return when the ticket is let in; it ends if that does not happen in time, or nobody waits any more."""
        if not ticket.waiting:
            return
        self._turns[ticket] = asyncio.Event()
        wait_s = ticket.give_up_at - time.monotonic()
        try:
            async with asyncio.timeout(wait_s):
                await self._turns[ticket].wait()
        except TimeoutError as error:
            self.leave(ticket, done=False)
            metrics.REFUSED.labels(reason).inc()
            raise Overloaded(f"the service is busy, and there was no room within {1000 * wait_s:.0f} ms") from error
        except asyncio.CancelledError:
            self.leave(ticket, done=False)
            raise
        finally:
            del self._turns[ticket]

    def _wake(self, tickets: list[Ticket]) -> None:
        for ticket in tickets:
            if ticket in self._turns:
                self._turns[ticket].set()


def attach(permit: Permit, scope: Scope) -> None:
    """Hand the permit to the route through the request's scope."""
    scope[_KEY] = permit


def permit_of(scope: Scope) -> Permit | None:
    """The permit of a request; None where there is no admission."""
    permit: Permit | None = scope.get(_KEY)
    return permit
