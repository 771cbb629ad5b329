"""A process with sessions of one model, a thread each: what a backend in C++ does with instances, without the server.

Run as `python -m loadtest.instances.threads MODEL SESSIONS SECONDS`; prints JSON.
"""

import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import onnxruntime as ort
import psutil

from loadtest.instances.models import ROWS

WARM_UP_S = 1.0


def main(model: str, sessions: int, seconds: float) -> None:
    """Open the sessions, run them all the time, and print what it took."""
    began_at = time.monotonic()
    opened = [open_session(model) for _ in range(sessions)]
    start_s = time.monotonic() - began_at
    with ThreadPoolExecutor(sessions) as pool:
        run_all(pool, opened, WARM_UP_S)
        began_at, began_core_s = time.monotonic(), time.process_time()
        done = run_all(pool, opened, seconds)
        took_s, core_s = time.monotonic() - began_at, time.process_time() - began_core_s
    memory = psutil.Process().memory_full_info()
    sizes = {"resident": memory.rss, "proportional": memory.pss}
    print(json.dumps({"start_s": start_s, **sizes, "per_s": done / took_s, "core_s": core_s / done}))


def run_all(pool: ThreadPoolExecutor, sessions: Sequence[ort.InferenceSession], seconds: float) -> int:
    """Run all sessions side by side for so long; how often."""
    end = time.monotonic() + seconds
    return sum(pool.map(lambda session: run_until(session, end), sessions))


def open_session(model: str) -> ort.InferenceSession:
    """A session as the project's configuration has it."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run_until(session: ort.InferenceSession, end: float) -> int:
    """Run until then; how often."""
    done = 0
    while time.monotonic() < end:
        session.run(None, {"crops": ROWS})
        done += 1
    return done


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
