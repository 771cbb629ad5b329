from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def corpus():
    """The corpus of real images, which is not part of the project."""
    folder = Path(__file__).parents[3] / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip("needs the corpus in ../shared/corpus")
    return folder
