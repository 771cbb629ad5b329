"""What end-to-end tests share: a real tritonserver, installed once into the repository's `.local`."""

from pathlib import Path

import pytest

from triton_models.runtime import PreconditionError, TritonRuntime, install_runtime

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def triton_runtime() -> TritonRuntime:
    """The installed tritonserver. Where it can't run the tests fail: a pass must mean that it ran."""
    try:
        return install_runtime(ROOT / ".local" / "triton", print)
    except PreconditionError as error:
        pytest.fail(str(error), pytrace=False)
