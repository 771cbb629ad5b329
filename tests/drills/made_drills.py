"""Made-up drills for the tests of reports and pictures."""

from dataclasses import replace

from tests.drills.course import Course, failures
from tests.drills.drill import Result
from tests.drills.ledger import Ending, Exchange, Finding
from tests.drills.limits import Judgement, Limit, nothing_failed
from tests.drills.watch import Sight

OK = Exchange("a", "page", 0.0, 0.0, Ending.ANSWERED, 200)
REFUSED = replace(OK, status=503, code="backend_unavailable")
LOST = replace(OK, ending=Ending.LOST, status=None, code="ReadError")
GONE = replace(OK, ending=Ending.LEFT, status=None)


def sent(exchange: Exchange, at: float, took_s: float = 0.1) -> Exchange:
    return replace(exchange, sent_at=at, ended_at=at + took_s)


def course(*exchanges: Exchange, ready: tuple[Sight, ...] = (), alive: tuple[Sight, ...] = ()) -> Course:
    """A load that begins at 0, with a fault from 10 to 20."""
    return Course(0.0, 10.0, 20.0, 2.0, exchanges, ready, alive)


def result(fault: str, repeat: int, made: Course, *findings: Finding) -> Result:
    judgements = [
        Judgement(nothing_failed("O10"), failures(made)),
        Judgement(Limit("O9", "time to notice", lambda _: None, 1.5), None),
    ]
    return Result(fault, repeat, made, findings, judgements, 0.01)
