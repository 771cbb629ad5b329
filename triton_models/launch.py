"""Becomes the command that it is given, bound to the life of the process that started it.

Run by path, as `python -I -S launch.py PARENT_PID LIBRARY_PATH COMMAND...`, so it imports nothing of the project. Linux
then kills the command when the starter ends, in whatever way; Triton's stubs notice that and end by themselves.
This is a program between fork and exec, and no `preexec_fn`, because Python code between the two can deadlock in a
process that has threads, and because the library path of the command must not reach the Python that runs this.
"""

import ctypes
import os
import signal
import sys

# From <linux/prctl.h>. The setting survives exec, but not fork: children of the command are not bound.
PR_SET_PDEATHSIG = 1


def main(parent_pid: int, library_path: str, command: list[str]) -> None:
    """Ask to be killed with the parent, then exec; does not return.

    Raises:
        OSError: the command can't be run.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        sys.exit("the starter ended before its server began")
    os.execve(command[0], command, {**os.environ, "LD_LIBRARY_PATH": library_path})  # noqa: S606 - the point of it


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
