"""Requests at the gate, and the line in which they wait."""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

SHARE_WAITING = 0.2
"""Of a request's time, that it may wait for a slot or for pixels."""

_HURRIED = 0.1
"""Of the usual wait, while there is no hope."""

_NO_HOPE_S = 1.0
"""How long after somebody has waited in vain others need not try for long."""

_EARLY_S = 0.002
"""How much too early a timer may be."""


class Priority(StrEnum):
    """Whether somebody is waiting for the answer; batch requests get what others leave."""

    INTERACTIVE = "interactive"
    BATCH = "batch"


@dataclass(slots=True, eq=False)
class Ticket:
    """One request at the gate, which alone changes it.

    Attributes:
        priority: as asked for.
        timeout_s: the time that the request has in all.
        pixels: guessed, then settled.
        give_up_at: while it waits, when it should stop, on the gate's clock.
        waiting: whether it waits, for a slot, for pixels or for both.
        has_slot: whether it holds a slot and its pixels.
        parked: whether it uploads without either.
        settled: whether its pixels are known, and it is worked on.
        uploaded_bytes: what has come of its body.
    """

    priority: Priority
    timeout_s: float
    pixels: int
    give_up_at: float = 0.0
    waiting: bool = False
    has_slot: bool = False
    parked: bool = False
    settled: bool = False
    uploaded_bytes: int = 0


class Line:
    """Tickets that wait, of one priority."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._tickets: deque[Ticket] = deque()
        self._standing_since = 0.0
        self._in_vain_at = -math.inf

    def __len__(self) -> int:
        return len(self._tickets)

    def overloaded(self, now: float) -> bool:
        """Whether it has not been empty for a while, or somebody waited in vain a moment ago."""
        standing = bool(self._tickets) and now - self._standing_since > self._wait_s
        return standing or now - self._in_vain_at < _NO_HOPE_S

    def add(self, ticket: Ticket, now: float) -> None:
        """Let a ticket wait, as long as makes sense."""
        if not self._tickets:
            self._standing_since = now
        usual_s = self._wait_s * (_HURRIED if self.overloaded(now) else 1.0)
        ticket.give_up_at = now + min(usual_s, SHARE_WAITING * ticket.timeout_s)
        self._tickets.append(ticket)

    def discard(self, ticket: Ticket, now: float) -> None:
        """Take a ticket out if it is in: it is let in, its client has left, or it has waited in vain."""
        if ticket in self._tickets:
            self._tickets.remove(ticket)
            if not ticket.has_slot and now >= ticket.give_up_at - _EARLY_S:
                self._in_vain_at = now

    def in_turn(self, now: float) -> Iterator[Ticket]:
        """Those that still wait, the next one first."""
        tickets = reversed(self._tickets) if self.overloaded(now) else iter(self._tickets)
        return (ticket for ticket in tickets if ticket.give_up_at > now)
