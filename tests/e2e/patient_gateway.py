"""The gateway, but patient with a Triton that gives no sign of life for a while; its settings are in the environment.

For tests that are not about silence: on a machine whose processor others take, a server that loads models is silent for
longer than the second after which a gateway turns away from it.
"""

import sys

from gateway.app import run
from gateway.inference.triton import TritonBackend
from gateway.inference.watching import WatchOptions
from gateway.settings import Settings

PATIENT = WatchOptions(quiet_ticks=300, silent_ticks=300, beat_timeout_s=60.0)

if __name__ == "__main__":
    sys.exit(
        run(Settings.read(), lambda settings: TritonBackend(settings.triton_addresses, watch=PATIENT, timeout_s=60))
    )
