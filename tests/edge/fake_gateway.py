"""The whole gateway, with its settings from the environment, on fake models: a process for tests of its edges."""

import os
import sys

from known_models import FakeModels

from gateway.app import run
from gateway.settings import Settings

if __name__ == "__main__":
    sys.exit(run(Settings.read(), lambda _: FakeModels(float(os.environ.get("FAKE_CALL_S", "0")))))
