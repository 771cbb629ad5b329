"""NVIDIA's MPS: processes that share a GPU instead of taking turns on it.

Kernels of several processes run side by side only through its daemon. It changes nothing about the GPU and ends with
the measurement.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONTROL = "nvidia-cuda-mps-control"
DRIVER_PROGRAMS = Path("/usr/local/nvidia/bin")
"""Where some machines have the driver's programs, besides the PATH."""


class NoMpsError(Exception):
    """The machine has no MPS, or it does not start."""


@contextmanager
def mps(folder: Path) -> Iterator[None]:
    """Processes that are started meanwhile share the GPU.

    Args:
        folder: for the daemon's pipes and logs; the path must be short.

    Raises:
        NoMpsError: it can't be had.
    """
    control = shutil.which(CONTROL) or shutil.which(CONTROL, path=str(DRIVER_PROGRAMS))
    if control is None:
        raise NoMpsError(f"{CONTROL} is not on this machine")
    folder.mkdir(parents=True, exist_ok=True)
    places = {"CUDA_MPS_PIPE_DIRECTORY": str(folder), "CUDA_MPS_LOG_DIRECTORY": str(folder)}
    os.environ.update(places)
    try:
        started = subprocess.run([control, "-d"], capture_output=True, text=True, check=False)
        if started.returncode != 0:
            raise NoMpsError(f"{CONTROL} -d: {started.stdout}{started.stderr}")
        yield
    finally:
        subprocess.run([control], input="quit\n", text=True, capture_output=True, timeout=30.0, check=False)
        for name in places:
            del os.environ[name]
