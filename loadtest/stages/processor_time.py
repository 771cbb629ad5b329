"""Processor time of another process, to the nanosecond: what a page costs however busy the machine is."""

import time

_SCHEDULED = 2
"""Linux: the time that the scheduler gave to all threads of a process, those that have ended included."""


def of_process(pid: int) -> float:
    """Seconds on a processor of a process; its children are not counted (Linux, `clock_getcpuclockid`)."""
    return time.clock_gettime((~pid << 3) | _SCHEDULED)
