import asyncio

import grpc
import httpx
import pytest

from gateway.doctor.examination import Chain, Check, examine_all
from gateway.doctor.findings import Finding, Severity, error, fine, warning
from gateway.errors import BackendUnavailable


def says(verdicts):
    async def run(target):
        return verdicts

    return run


def raises(failure):
    async def run(target):
        raise failure

    return run


async def hangs(target):
    await asyncio.sleep(60)


def check(name, run, *, decides=False):
    return Check(name, f"{name}?", run, "do this", decides=decides, timeout_s=0.05)


async def examined(*checks, chosen=None):
    names = {one.name for one in checks} if chosen is None else chosen
    return await examine_all([Chain("it", None, checks)], names)


async def test_a_finding_says_where_what_and_what_to_do():
    assert await examined(check("a", says(warning("small", "enlarge it", "1")))) == [
        Finding("it", "a", Severity.WARNING, "small", "enlarge it", "1")
    ]


async def test_an_error_that_decides_ends_its_chain_and_no_other():
    broken = [check("a", says(error("broken", "mend it")), decides=True), check("b", says(fine("good")))]
    found = await examine_all([Chain("one", None, broken), Chain("two", None, broken[1:])], {"a", "b"})
    assert [(one.subject, one.check) for one in found] == [("one", "a"), ("two", "b")]


async def test_other_errors_do_not():
    assert [one.check for one in await examined(check("a", says(error("x", "y"))), check("b", says(fine("z"))))] == [
        "a",
        "b",
    ]


async def test_only_what_was_chosen_is_run():
    assert [one.check for one in await examined(check("a", hangs), check("b", says(fine("z"))), chosen={"b"})] == ["b"]


async def test_a_hang_is_a_finding():
    (found,) = await examined(check("a", hangs))
    assert (found.severity, found.what, found.do) == (Severity.ERROR, "no answer within 0.05 s", "do this")


def unavailable():
    failure = BackendUnavailable("the model is gone")
    status = grpc.StatusCode.UNAVAILABLE
    failure.__cause__ = grpc.aio.AioRpcError(status, grpc.aio.Metadata(), grpc.aio.Metadata(), "Socket closed")
    return failure


@pytest.mark.parametrize(
    ("failure", "severity", "what", "evidence"),
    [
        (unavailable(), Severity.ERROR, "the model is gone", "(Socket closed)"),
        (httpx.ReadTimeout("slow"), Severity.ERROR, "no answer over HTTP", "slow"),
        (KeyError("x"), Severity.UNKNOWN, "the check itself broke", "KeyError: 'x'"),
    ],
)
async def test_so_is_what_a_check_raises(failure, severity, what, evidence):
    (found,) = await examined(check("a", raises(failure)))
    assert (found.severity, found.what, found.evidence) == (severity, what, evidence)
