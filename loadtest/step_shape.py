"""The rate in steps until the service does not keep up, then where its knee is; a second file beside the users.

locust -f loadtest/locustfile.py,loadtest/step_shape.py --host http://127.0.0.1:8080 --headless Receipts
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Locust itself looks in this file's folder only

from loadtest.capacity.shape import Steps


class StepShape(Steps):
    """`--users`, `--spawn-rate` and `--run-time` of Locust have no meaning beside it."""
