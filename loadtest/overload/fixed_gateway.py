"""The whole gateway, its settings from the environment, on models that take a fixed time.

python -m loadtest.overload.fixed_gateway CORES CALL_SECONDS      (cores as in "0,2")
"""

import os
import sys

from gateway.app import run
from gateway.settings import Settings
from loadtest.overload.fixed_models import FixedModels

if __name__ == "__main__":
    # Before any thread is made: they inherit it.
    os.sched_setaffinity(0, [int(core) for core in sys.argv[1].split(",")])
    sys.exit(run(Settings.read(), lambda _: FixedModels(float(sys.argv[2]))))
