"""The fuzzers for a minute; `make fuzz` gives them as long as you like."""

import pytest

from loadtest.accuracy.errors import AccuracyError
from tests.fuzz.environment import prepare
from tests.fuzz.fuzzers import run_atheris, run_schemathesis
from tests.fuzz.service import fake_gateway

# They are installed from the package index, as Triton is.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

SECONDS = 60
LEAST_CASES = 200
"""That many show that it ran at all; how many there are depends on the machine."""
SEED = 1
"""The same every time: a commit is not to fail for what another one did. `make fuzz` looks elsewhere each time."""


@pytest.fixture(scope="module")
def python():
    try:
        return prepare(print)
    except AccuracyError as error:
        pytest.fail(str(error), pytrace=False)


def test_nothing_that_fits_or_breaks_the_openapi_document_is_answered_wrongly(python, tmp_path):
    with fake_gateway(tmp_path) as address:
        outcome = run_schemathesis(python, tmp_path, address, seconds=SECONDS // 2, cases=400, seed=SEED)
    assert outcome.passed, outcome.log.read_text()[-5000:]
    assert outcome.cases >= LEAST_CASES


def test_whatever_bytes_come_in_only_errors_of_ours_come_out(python, tmp_path):
    outcome = run_atheris(python, tmp_path, SECONDS, seed=SEED)
    assert outcome.passed, outcome.log.read_text(errors="replace")[-5000:]
    assert outcome.cases > 1_000
