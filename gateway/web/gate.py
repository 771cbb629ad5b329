"""Who may be worked on now: decisions without I/O, on a clock that is handed in.

    ask ──► waiting ──► taken ──► settled ──► left
                          ▲ │        ▲
            upload slow:  │ ▼        │
                        parked ──► settling

Three things are scarce:

* **slots**: requests under way at once. There are fewer than the limit when the pace says that so many could not be
  finished in half of a request's time;
* **pixels**, which stand for memory, and for work: before the body is read they are guessed from its length, then
  settled from the image's header;
* **bytes of slow uploads**: an upload that takes long is parked, without slot and pixels, so that slow clients can't
  keep others out.

A short line waits for the first two, interactive requests before batch. It is served oldest first. If it has not been
empty for a while, or somebody has just waited in vain, it is served newest first, and waiting is kept very short:
whoever has waited long will give up soon, and a refusal that comes at once can be tried elsewhere (after adaptive LIFO
and controlled delay: B. Maurer, "Fail at Scale", ACM Queue 13(8), 2015).
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from gateway.errors import Overloaded
from gateway.web.pace import Pace
from gateway.web.tickets import SHARE_WAITING, Line, Priority, Ticket

_FLOOR = 6
"""Slots there are at any pace: what one browser or one user's script opens at once."""

_SHARE_OF_TIME = 0.5
"""Of a request's time, that the requests before it may need; the rest is for its own ups and downs."""


@dataclass(frozen=True, slots=True)
class GateLimits:
    """What there is to give out.

    Attributes:
        slots: most requests under way.
        waiting: most requests of one priority that wait.
        wait_s: the longest that one waits.
        pixels: most pixels under way; at least four times as many as one image may have.
        parked_bytes: most bytes of slow uploads.
    """

    slots: int
    waiting: int
    wait_s: float
    pixels: int
    parked_bytes: int


class Gate:
    """Gives out slots and pixels. Methods return the tickets that a change has let in, so that they can be woken.

    Attributes:
        slots_in_use, pixels_in_use, parked_bytes: given out.
        parked: slow uploads.
    """

    def __init__(self, limits: GateLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._pace = Pace()
        self._lines = {priority: Line(limits.wait_s) for priority in Priority}
        self._settling: deque[Ticket] = deque()
        self.slots_in_use = 0
        self.pixels_in_use = 0
        self.parked = 0
        self.parked_bytes = 0

    @property
    def most_pixels(self) -> int:
        """How many pixels may be under way."""
        return self._limits.pixels

    def waiting(self, priority: Priority) -> int:
        """How many wait in the line of this priority."""
        return len(self._lines[priority])

    @property
    def settling(self) -> int:
        """How many wait with a complete upload."""
        return len(self._settling)

    def slots(self, timeout_s: float) -> int:
        """How many requests may be under way when one with so much time is to be added."""
        in_time = self._pace.finished_within(_SHARE_OF_TIME * timeout_s, self._clock())
        return int(min(self._limits.slots, max(_FLOOR, in_time)))

    def ask(self, *, pixels: int, priority: Priority, timeout_s: float) -> Ticket:
        """A ticket for a new request, which is taken or waits.

        Raises:
            Overloaded: the line is full.
        """
        ticket = Ticket(priority, timeout_s, pixels)
        line = self._lines[priority]
        if self._has_room_for(ticket):
            self._take(ticket)
        elif len(line) >= self._limits.waiting:
            raise Overloaded(f"{len(line)} requests wait already")
        else:
            ticket.waiting = True
            line.add(ticket, self._clock())
        return ticket

    def uploaded(self, ticket: Ticket, size: int) -> None:
        """Count bytes of a body.

        Raises:
            Overloaded: it is a slow upload, and these hold too many bytes together.
        """
        ticket.uploaded_bytes += size
        if ticket.parked:
            self.parked_bytes += size
            if self.parked_bytes > self._limits.parked_bytes:
                raise Overloaded("the upload was slow, and there are many of that kind")

    def park(self, ticket: Ticket) -> list[Ticket]:
        """Take slot and pixels back from an upload that takes long; it keeps them if its bytes are too many to park."""
        fits = self.parked_bytes + ticket.uploaded_bytes <= self._limits.parked_bytes
        if not ticket.has_slot or ticket.settled or not fits:
            return []
        self._take_back(ticket)
        ticket.parked = True
        self.parked += 1
        self.parked_bytes += ticket.uploaded_bytes
        return self._let_in()

    def settle(self, ticket: Ticket, pixels: int) -> list[Ticket]:
        """Exchange the guess for the number of pixels, once the upload is complete.

        A ticket that needs more than it holds gives that back and waits, before all that are not taken yet: its upload
        is paid for. Its turn comes for certain: meanwhile the others get no more than half of the pixels.
        """
        if ticket.has_slot and pixels <= ticket.pixels:
            self.pixels_in_use -= ticket.pixels - pixels
            ticket.pixels = pixels
            self._work(ticket)
            return self._let_in()
        self._unpark(ticket)
        if ticket.has_slot:
            self.pixels_in_use -= ticket.pixels
        ticket.pixels = pixels
        ticket.give_up_at = self._clock() + SHARE_WAITING * ticket.timeout_s
        ticket.waiting = True
        self._settling.append(ticket)
        return self._let_in()

    def progress(self, ticket: Ticket) -> None:
        """Note that a page of a ticket's document has been read, which is as much work as another request."""
        if ticket.settled:
            self._pace.progress(self._clock())

    def leave(self, ticket: Ticket, *, done: bool = False) -> list[Ticket]:
        """End a ticket, wherever it stands: its request has been answered, has failed, or nobody waits for it."""
        self._unpark(ticket)
        self._lines[ticket.priority].discard(ticket, self._clock())
        if ticket in self._settling:
            self._settling.remove(ticket)
            self.slots_in_use -= ticket.has_slot
        elif ticket.has_slot:
            self._take_back(ticket)
        if ticket.settled:
            self._pace.end(self._clock(), done=done)
        ticket.waiting = ticket.has_slot = ticket.settled = False
        return self._let_in()

    def _let_in(self) -> list[Ticket]:
        let_in = []
        while ticket := self._next():
            if ticket in self._settling:
                self._settling.popleft()
                self._work(ticket)
            self._take(ticket)
            self._lines[ticket.priority].discard(ticket, self._clock())
            let_in.append(ticket)
        return let_in

    def _next(self) -> Ticket | None:
        if self._settling and self._can_settle(self._settling[0]):
            return self._settling[0]
        now = self._clock()
        waiting = (ticket for line in self._lines.values() for ticket in line.in_turn(now))
        return next((ticket for ticket in waiting if self._has_room_for(ticket)), None)

    def _can_settle(self, ticket: Ticket) -> bool:
        slot = ticket.has_slot or self.slots_in_use < self._limits.slots
        return slot and self._leaves_room(ticket.pixels, self._limits.pixels)

    def _has_room_for(self, ticket: Ticket) -> bool:
        """Whether a ticket that is not taken yet may be; what batch and a complete upload leave it is half."""
        batch = ticket.priority is Priority.BATCH
        slots = self.slots(ticket.timeout_s)
        expected = self.slots_in_use + sum(not other.has_slot for other in self._settling)
        pixels = self._limits.pixels // (2 if batch or self._settling else 1)
        return expected < (max(1, slots // 2) if batch else slots) and self._leaves_room(ticket.pixels, pixels)

    def _leaves_room(self, pixels: int, limit: int) -> bool:
        """Whether as much as it takes is left for others, or a quarter of all: so large images never take the rest."""
        return self.pixels_in_use + pixels + min(pixels, self._limits.pixels // 4) <= limit

    def _take(self, ticket: Ticket) -> None:
        self.slots_in_use += not ticket.has_slot
        self.pixels_in_use += ticket.pixels
        ticket.has_slot = True
        ticket.waiting = False

    def _take_back(self, ticket: Ticket) -> None:
        self.slots_in_use -= 1
        self.pixels_in_use -= ticket.pixels
        ticket.has_slot = False

    def _work(self, ticket: Ticket) -> None:
        ticket.settled = True
        self._pace.begin(self._clock())

    def _unpark(self, ticket: Ticket) -> None:
        self.parked -= ticket.parked
        self.parked_bytes -= ticket.uploaded_bytes if ticket.parked else 0
        ticket.parked = False
