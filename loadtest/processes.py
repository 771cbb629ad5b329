"""Processes that a measurement has started."""

import subprocess

STOP_TIMEOUT_S = 60.0


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end, and wait until it has, and has stopped its children; kill it if it does not.

    By SIGTERM: SIGINT is ignored by whatever was started, however far up, in the background of a script.
    """
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
