"""Figures of phases and jumps, drawn from replies and samples. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from loadtest.overload.reply import NO_ANSWER, Reply, quantile

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class StreamResult:
    """What clients saw of one stream in one phase.

    Attributes:
        name: of the stream.
        offered: requests per second, those that were sent again included.
        sent: how many.
        good: pages within the deadline.
        goodput: of them per second.
        refused: requests that were told to come again later.
        failed: requests that were answered otherwise, by code.
        unanswered: requests without an answer.
        twice: requests with more than one.
        rude: refusals without Retry-After.
        open: refusals that leave the connection open.
        accepted_p99_s, refused_p99_s: how long these answers took; None if there are none.
        late_p99_s: by how much the client itself was late.
    """

    name: str
    offered: float
    sent: int
    good: int
    goodput: float
    refused: int
    failed: Mapping[str, int]
    unanswered: int
    twice: int
    rude: int
    open: int
    accepted_p99_s: float | None
    refused_p99_s: float | None
    late_p99_s: float | None

    @property
    def pages(self) -> int:
        """How many pages were sent, in time or not."""
        return self.sent - self.refused - self.unanswered - sum(self.failed.values())

    @property
    def share_good(self) -> float:
        """Of all requests, those that got a page in time."""
        return self.good / self.sent if self.sent else 0.0

    @classmethod
    def of(cls, name: str, replies: Sequence[Reply], seconds: float, deadline_s: float) -> Self:
        """The figures of the replies that belong to this stream."""
        own = [reply for reply in replies if reply.stream == name]
        refusals = [reply for reply in own if reply.refused]
        good = sum(reply.good(deadline_s) for reply in own)
        return cls(
            name=name,
            offered=len(own) / seconds,
            sent=len(own),
            good=good,
            goodput=good / seconds,
            refused=len(refusals),
            failed=count_codes(own),
            unanswered=sum(reply.answer.status == NO_ANSWER for reply in own),
            twice=sum(reply.answer.surplus > 0 for reply in own),
            rude=sum(not reply.answer.retry_after for reply in refusals),
            open=sum(not reply.answer.closes for reply in refusals),
            accepted_p99_s=quantile((reply.took_s for reply in own if reply.accepted), 0.99),
            refused_p99_s=quantile((reply.took_s for reply in refusals), 0.99),
            late_p99_s=quantile((reply.late_s for reply in own), 0.99),
        )


def count_codes(replies: Iterable[Reply]) -> dict[str, int]:
    """How often requests failed, by code. A plain dictionary: `asdict` takes a Counter apart."""
    return dict(Counter(reply.answer.code or f"http_{reply.answer.status}" for reply in replies if reply.failed))


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """One phase.

    Attributes:
        streams: by name.
        memory: resident bytes of the gateway at the beginning and at most.
        pixels: most that were under way, as far as they were seen.
        processor_s: processor time that the gateway used.
        seconds: from the first request to the last answer.
    """

    streams: Mapping[str, StreamResult]
    memory: tuple[int, int]
    pixels: int
    processor_s: float
    seconds: float

    @property
    def busy(self) -> float:
        """Processor time of the gateway per second; 1 is all of its core."""
        return self.processor_s / self.seconds

    @property
    def growth_bytes(self) -> int:
        """By how much the memory grew at worst."""
        return self.memory[1] - self.memory[0]


@dataclass(frozen=True, slots=True)
class JumpResult:
    """What happened when a flood was over.

    Attributes:
        calm: goodput before it.
        recovered_s: from the end of the flood to a second with 95 % of that; None if there was none.
        goodput: of every half second from the beginning, pages per second.
        flood: from when to when, seconds from the beginning.
    """

    calm: float
    recovered_s: float | None
    goodput: tuple[float, ...]
    flood: tuple[float, float]


@dataclass(frozen=True, slots=True)
class StandResult:
    """One arrangement.

    Attributes:
        name: of the stand.
        peak: pages per second in the best of the closed loops.
        phases, jumps: by name.
        refusals: that the gateway itself gave: before any of the body was read, and later.
    """

    name: str
    peak: float
    phases: Mapping[str, PhaseResult]
    jumps: Mapping[str, JumpResult]
    refusals: tuple[int, int]

    def stream(self, phase: str, stream: str) -> StreamResult:
        """One stream of one phase."""
        return self.phases[phase].streams[stream]

    def page_cost_s(self, phase: str, stream: str) -> float:
        """Processor time of a page, from a phase in which nearly nothing was refused."""
        return self.phases[phase].processor_s / max(1, self.stream(phase, stream).pages)

    def refusal_cost_s(self, phase: str, stream: str, page_cost_s: float) -> float | None:
        """Processor time of a refusal: what a phase took beside its pages; None if nothing was refused."""
        flooded = self.stream(phase, stream)
        beside_s = self.phases[phase].processor_s - flooded.pages * page_cost_s
        return max(0.0, beside_s) / flooded.refused if flooded.refused else None
