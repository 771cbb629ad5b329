"""Everything in deploy/ as its own programs read it: `make ops-check`, without what takes long."""

import pytest

from loadtest.accuracy.errors import AccuracyError
from tests.ops.checks import CHECKS
from tests.ops.programs import ProgramMissing, install_tools

LONG = {"SBOM"}
"""It asks pip about every package, and finds no fault with any."""


@pytest.fixture(scope="module", autouse=True)
def tools():
    """The programs that pip can install; what it can't, a test skips."""
    try:
        install_tools(print)
    except AccuracyError as error:
        pytest.skip(f"pip could not install the tools: {error}")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [name for name in CHECKS if name not in LONG])
def test_a_program_finds_no_fault_with_what_it_would_read(name):
    try:
        CHECKS[name]()
    except ProgramMissing as missing:
        pytest.skip(str(missing))
