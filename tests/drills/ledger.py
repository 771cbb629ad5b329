"""The ledger of one drill: what was asked, what was answered, what each gateway logged and counted; and if it adds up.

Pure. A finding is something that nobody can explain; the number of findings must be nought, whatever the fault:

1. every id was answered exactly once, by the gateway that logged it, or ended in a way that the drill itself caused;
2. every gateway process says of each id once how it ended, took or refused each, and holds nothing in the end;
3. only a request that was under way while the drill broke something may end without an answer of a gateway;
4. the gateway's counters say the same as its log;
5. every page that was answered has the text that it has without a fault;
6. a refusal names a reason that fits the fault, and none comes before the fault.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

OK = 200


class Ending(StrEnum):
    """How a request ended for the client."""

    ANSWERED = "answered"  # by a gateway
    PROXY = "proxy"  # by the proxy in front, in place of a gateway
    LOST = "lost"  # the connection broke, or was refused
    LEFT = "left"  # the client closed the connection on purpose
    SILENT = "silent"  # the client gave up: there was no answer long after the deadline


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request as its client saw it.

    Attributes:
        request_id: sent with it; unique.
        page: name of the page that was sent.
        sent_at, ended_at: on the monotonic clock, seconds.
        ending: see there.
        status: of the answer, if there was one.
        code: of the problem document, or the name of the error that ended the connection.
        text: of the page, with status 200.
        answered_id: the request id that the answer names.
    """

    request_id: str
    page: str
    sent_at: float
    ended_at: float
    ending: Ending
    status: int | None = None
    code: str | None = None
    text: str | None = None
    answered_id: str | None = None

    @property
    def ok(self) -> bool:
        """Whether a page came back."""
        return self.ending is Ending.ANSWERED and self.status == OK

    @property
    def failed(self) -> bool:
        """Whether a client that waited for a page got none."""
        return not self.ok and self.ending is not Ending.LEFT

    @property
    def outcome(self) -> str:
        """A word for tables: "ok", the problem's code, or how the request ended without an answer."""
        if self.ok:
            return "ok"
        return self.code or str(self.status) if self.ending is Ending.ANSWERED else f"{self.ending}:{self.code or ''}"


@dataclass(frozen=True, slots=True)
class Admission:
    """What the admission of a gateway has counted.

    Attributes:
        taken: requests that got a slot.
        refused: requests that got none, or lost it again.
        held: slots in use when nothing was under way any more.
    """

    taken: int
    refused: int
    held: int


@dataclass(frozen=True, slots=True)
class Account:
    """What one gateway process wrote down about requests for pages.

    Attributes:
        name: of the process.
        ended: (id, status) of each line about a request that has ended, in order.
        counted: `ocr_http_requests_total` by status; None if the process ended before it could be asked.
        admission: see there; None likewise.
        complete: whether the log can be believed to be whole; not if the disk was full or the process was killed.
    """

    name: str
    ended: tuple[tuple[str, int], ...]
    counted: Mapping[int, int] | None = None
    admission: Admission | None = None
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which the drill broke something, on the monotonic clock.

    Attributes:
        begin, end: seconds.
    """

    begin: float
    end: float

    def met(self, exchange: Exchange) -> bool:
        """Whether the request was under way at some time of it."""
        return exchange.sent_at <= self.end and exchange.ended_at >= self.begin


@dataclass(frozen=True, slots=True)
class Excuses:
    """What a drill's fault explains.

    Attributes:
        codes: of problems that are a right answer to it.
        injected_at: when it began; no failure is explained before.
        cut: when requests under way may have lost their connection or got the proxy's answer.
    """

    codes: frozenset[str] = frozenset()
    injected_at: float = 0.0
    cut: tuple[Span, ...] = ()

    def explain_code(self, exchange: Exchange) -> bool:
        """Whether this refusal fits the fault."""
        return exchange.code in self.codes and exchange.ended_at >= self.injected_at

    def explain_cut(self, exchange: Exchange) -> bool:
        """Whether the drill ended this request."""
        return any(span.met(exchange) for span in self.cut)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something unexplained.

    Attributes:
        subject: a request's id, or a gateway process.
        reason: in words.
    """

    subject: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """Both sides of a drill.

    Attributes:
        exchanges: every request that was sent.
        accounts: of every gateway process there was.
        texts: of each page without a fault, by name.
        excuses: see there.
    """

    exchanges: Sequence[Exchange]
    accounts: Sequence[Account]
    texts: Mapping[str, str]
    excuses: Excuses = field(default_factory=Excuses)

    def findings(self) -> list[Finding]:
        """Everything that can't be explained; one finding a request, or per process and promise."""
        lines = self._lines_by_id()
        found = [
            Finding(exchange.request_id, reason)
            for exchange in self.exchanges
            if (reason := next(self._doubts(exchange, lines.get(exchange.request_id, [])), None))
        ]
        for account in self.accounts:
            found += [Finding(account.name, reason) for reason in self._doubts_of(account)]
        return found

    def _lines_by_id(self) -> dict[str, list[int]]:
        """The statuses logged for each id, by all processes together."""
        lines: dict[str, list[int]] = {}
        for account in self.accounts:
            for request_id, status in account.ended:
                lines.setdefault(request_id, []).append(status)
        return lines

    def _doubts(self, exchange: Exchange, statuses: list[int]) -> Iterator[str]:
        match exchange.ending:
            case Ending.ANSWERED:
                yield from self._doubts_of_answer(exchange, statuses)
            case Ending.PROXY | Ending.LOST:
                if not self.excuses.explain_cut(exchange):
                    yield f"ended as {exchange.outcome} though nothing was cut"
            case Ending.SILENT:
                yield "was not answered"

    def _doubts_of_answer(self, exchange: Exchange, statuses: list[int]) -> Iterator[str]:
        if exchange.answered_id != exchange.request_id:
            yield f"the answer is that of request {exchange.answered_id}"
        if exchange.ok and exchange.text != self.texts.get(exchange.page):
            yield f"the text of {exchange.page} is {exchange.text!r}, not {self.texts.get(exchange.page)!r}"
        if exchange.failed and not self.excuses.explain_code(exchange):
            yield f"was refused with {exchange.status} {exchange.code}, which the fault does not explain"
        if all(account.complete for account in self.accounts):
            yield from self._doubts_of_lines(exchange, statuses)

    def _doubts_of_lines(self, exchange: Exchange, statuses: list[int]) -> Iterator[str]:
        """An answer has one line of its status.

        A proxy asks another gateway for what a broken one does not answer. Should that one go on, it finds the request
        and ends it as well, for nobody.
        """
        others = list(statuses)
        if exchange.status not in others:
            yield f"the client got {exchange.status}, the logs have {statuses}"
            return
        others.remove(exchange.status)
        if others and not self.excuses.explain_cut(exchange):
            yield f"was answered once with {exchange.status}, the logs have {statuses}"

    def _doubts_of(self, account: Account) -> Iterator[str]:
        ids = Counter(request_id for request_id, _ in account.ended)
        if doubles := [request_id for request_id, times in ids.items() if times > 1]:
            yield f"logged the end of these more than once: {_some(doubles)}"
        if strangers := ids.keys() - {exchange.request_id for exchange in self.exchanges}:
            yield f"logged requests that were not sent: {_some(sorted(strangers))}"
        if account.counted is not None and account.complete:
            logged = Counter(status for _, status in account.ended)
            if logged != Counter(account.counted):
                yield f"counted {dict(account.counted)}, logged {dict(logged)}"
        if account.counted is not None and not account.complete and len(self.accounts) == 1:
            yield from self._doubts_of_count(Counter(account.counted))
        if account.counted is not None and account.admission is not None:
            yield from _doubts_of_admission(account.admission, Counter(account.counted))

    def _doubts_of_count(self, counted: Counter[int]) -> Iterator[str]:
        """Where the log is not whole the counters of the only gateway are compared with what clients got."""
        answered = Counter(exchange.status for exchange in self.exchanges if exchange.ending is Ending.ANSWERED)
        if any(counted[status] < times for status, times in answered.items() if status is not None):
            yield f"counted {dict(counted)}, clients got {dict(answered)}"
        if counted.total() > len(self.exchanges):
            yield f"counted {counted.total()} requests, {len(self.exchanges)} were sent"


def _doubts_of_admission(admission: Admission, counted: Counter[int]) -> Iterator[str]:
    """A request that was taken may still be refused, when its size is known."""
    if not counted[OK] <= admission.taken <= counted.total() <= admission.taken + admission.refused:
        yield f"took {admission.taken} and refused {admission.refused}, but counted {dict(counted)}"
    if admission.held:
        yield f"holds {admission.held} slots for nobody"


def _some(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:5])
    return shown if len(ids) <= 5 else f"{shown} and {len(ids) - 5} more"
