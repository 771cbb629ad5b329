"""What tests in several folders share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"

# `make fuzz` asks for more examples of every property than a test run has time for.
settings.register_profile("fuzz", max_examples=int(os.environ.get("FUZZ_EXAMPLES", "100")), deadline=None)
if "FUZZ_EXAMPLES" in os.environ:
    settings.load_profile("fuzz")


@pytest.fixture(scope="session")
def corpus():
    """The corpus of real images, which is not part of the project."""
    if not CORPUS.is_dir():
        pytest.skip("needs the corpus in ../shared/corpus")
    return CORPUS
