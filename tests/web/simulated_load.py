"""A service on a simulated clock: requests come whether they are answered or not, and those at work share its speed."""

import heapq
import itertools
import random
from dataclasses import dataclass, field

from gateway.errors import Overloaded
from gateway.web.gate import Gate, GateLimits
from gateway.web.tickets import Priority, Ticket

LIMITS = GateLimits(slots=32, waiting=64, wait_s=0.15, pixels=200_000_000, parked_bytes=200_000_000)


@dataclass(frozen=True)
class Stream:
    """Requests of one kind that come at random.

    Attributes:
        per_s: requests a second.
        work_s: seconds that one takes when it is alone.
        pixels: that it guesses and has.
        until_s: when the last one comes.
    """

    per_s: float
    work_s: float
    pixels: int = 1_000_000
    timeout_s: float = 30.0
    priority: Priority = Priority.INTERACTIVE
    since_s: float = 0.0
    until_s: float = 60.0

    def arrivals(self, chance):
        at_s = self.since_s
        while (at_s := at_s + chance.expovariate(self.per_s)) < self.until_s:
            yield at_s


@dataclass(eq=False)
class Request:
    stream: Stream
    came_at: float
    ticket: Ticket | None = None
    left_s: float = 0.0


@dataclass
class Outcome:
    """What became of the requests of one stream.

    Attributes:
        answered: seconds from coming to answer, for those answered in time.
        answered_at: when.
        late: how many ran out of time while they were worked on.
        refused: how long they had waited until they were refused.
    """

    answered: list = field(default_factory=list)
    answered_at: list = field(default_factory=list)
    late: int = 0
    refused: list = field(default_factory=list)

    @property
    def sent(self):
        return len(self.answered) + self.late + len(self.refused)

    @property
    def success(self):
        return len(self.answered) / self.sent

    def latency(self, share):
        return sorted(self.answered)[int(share * len(self.answered))]


class Service:
    """The work of `speed` requests at once, shared by all that are at work, behind a gate."""

    def __init__(self, limits=LIMITS, *, speed=1.0, seed=0):
        self.now = 0.0
        self.gate = Gate(limits, lambda: self.now)
        self.speed = speed
        self.chance = random.Random(seed)
        self.at_work: list[Request] = []
        self.waiting: list[Request] = []
        self.outcomes: dict[Stream, Outcome] = {}
        self.most_pixels = 0
        self.most_slots = 0

    def run(self, *streams):
        """Play all streams to their end; the outcome of each."""
        order = itertools.count()
        coming = [(at, next(order), stream) for stream in streams for at in stream.arrivals(self.chance)]
        heapq.heapify(coming)
        self.outcomes = {stream: Outcome() for stream in streams}
        while coming or self.at_work or self.waiting:
            came_at = coming[0][0] if coming else float("inf")
            self._go_to(min(came_at, self._next_end()))
            if self.now == came_at:
                self._come(heapq.heappop(coming)[2])
            self.most_pixels = max(self.most_pixels, self.gate.pixels_in_use)
            self.most_slots = max(self.most_slots, self.gate.slots_in_use)
        return [self.outcomes[stream] for stream in streams]

    def _rate(self):
        """Work done on each request in a second: no request is faster than alone."""
        return min(1.0, self.speed / len(self.at_work)) if self.at_work else 0.0

    def _next_end(self):
        ends = [self.now + request.left_s / self._rate() for request in self.at_work]
        ends += [request.came_at + request.stream.timeout_s for request in self.at_work]
        ends += [request.ticket.give_up_at for request in self.waiting]
        return max(self.now, min(ends, default=float("inf")))

    def _go_to(self, now):
        rate = self._rate()
        for request in self.at_work:
            request.left_s -= rate * (now - self.now)
        self.now = now
        for request in [request for request in self.waiting if request.ticket.give_up_at <= now]:
            self.waiting.remove(request)
            self._refuse(request)
            self._leave(request)
        for request in list(self.at_work):
            late = request.came_at + request.stream.timeout_s <= now
            if late or request.left_s <= 1e-9:
                self._answer(request, late=late)

    def _come(self, stream):
        request = Request(stream, self.now, left_s=stream.work_s)
        try:
            request.ticket = self.gate.ask(pixels=stream.pixels, priority=stream.priority, timeout_s=stream.timeout_s)
        except Overloaded:
            self._refuse(request)
            return
        self.waiting.append(request)
        self._wake()

    def _wake(self):
        for request in [request for request in self.waiting if not request.ticket.waiting]:
            self.waiting.remove(request)
            self.at_work.append(request)
            self.gate.settle(request.ticket, request.stream.pixels)

    def _leave(self, request, *, done=False):
        self.gate.leave(request.ticket, done=done)
        self._wake()

    def _answer(self, request, *, late):
        self.at_work.remove(request)
        outcome = self.outcomes[request.stream]
        if late:
            outcome.late += 1
        else:
            outcome.answered.append(self.now - request.came_at)
            outcome.answered_at.append(self.now)
        self._leave(request, done=not late)

    def _refuse(self, request):
        self.outcomes[request.stream].refused.append(self.now - request.came_at)
