import pytest

from loadtest.accuracy.circumstances import ROOT


@pytest.fixture
def scorer():
    path = ROOT.parent / "shared" / "corpus" / "score.py"
    if not path.is_file():
        pytest.skip("score.py comes with the corpus, which is not here")
    return path
