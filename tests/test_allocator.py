import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
from gateway.allocator import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory()
import numpy as np
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(100):
    np.ones(4 << 20, np.uint8)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's")
def test_what_is_freed_is_used_again_without_asking_the_kernel():
    """The other allocator's threshold adapts to a degree, so only the tuned one is held to a number of pages."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, "kept"], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 3 * (4 << 20) / 4096
