"""What tests in several folders share."""

from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"


@pytest.fixture(scope="session")
def corpus():
    """The corpus of real images, which is not part of the project."""
    if not CORPUS.is_dir():
        pytest.skip("needs the corpus in ../shared/corpus")
    return CORPUS
