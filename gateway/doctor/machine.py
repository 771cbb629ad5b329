"""Limits of this machine, and of processes on it: open files, locked memory, shared memory, growth."""

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from gateway.doctor.findings import Verdict, fine, unknown, warning
from gateway.doctor.targets import MachineTarget

LOOKS, APART_S = 4, 0.8
FEW_FILES = 1024
"""Too few for a gateway with its default of 1,000 connections, and for a Triton with a process for each model."""
MUCH_OPEN = 0.8
SHM_LEAST_BYTES = 256_000_000
"""Containers have 64 MB unless --shm-size says more; every process of a Python backend wants some."""
SHM_FULL = 0.9
LOCKED_LEAST_BYTES = 268_435_456
"""Triton's pool of pinned memory; less matters on a machine with a GPU only."""
GREW_BYTES = 10_000_000
"""Between two looks; and between all of them, for a model takes some memory at once when it first meets a shape."""
UNLIMITED = "unlimited"


async def check_files(target: MachineTarget) -> Sequence[Verdict]:
    """Whether the processes may open enough files."""
    verdicts: list[Verdict] = []
    for pid in target.pids:
        most = limits_of(target, pid).get("open files", UNLIMITED)
        if most == UNLIMITED:
            continue
        used = _open_files(target, pid)
        if int(most) < FEW_FILES or used > MUCH_OPEN * int(most):
            do = "raise LimitNOFILE= (systemd), --ulimit nofile= (Docker) or ulimit -n"
            verdicts += warning(f"process {pid} has {used} of {most} files open", do)
    return verdicts or fine(_looked_at(target, "enough files"))


async def check_locked_memory(target: MachineTarget) -> Sequence[Verdict]:
    """Whether they may lock as much memory as transfers to a GPU want."""
    if not (target.proc / "driver" / "nvidia").exists():
        return fine("no GPU, so nothing is locked")
    verdicts: list[Verdict] = []
    for pid in target.pids:
        most = limits_of(target, pid).get("locked memory", UNLIMITED)
        if most != UNLIMITED and int(most) < LOCKED_LEAST_BYTES:
            do = "LimitMEMLOCK=infinity (systemd), --ulimit memlock=-1 (Docker)"
            verdicts += warning(f"process {pid} may lock {int(most) / 1e6:.0f} MB", do)
    return verdicts or fine(_looked_at(target, "enough locked memory"))


async def check_shared_memory(target: MachineTarget) -> Sequence[Verdict]:
    """Whether /dev/shm is large enough and has room: each process of a Python backend takes some, and keeps it."""
    if not target.pids and not target.ports:
        return fine("no Triton of this machine was named; a gateway uses none")
    try:
        use = os.statvfs(target.shm)
    except OSError as failure:
        return unknown(f"{target.shm} can't be looked at", "", failure.strerror or "")
    total, free = use.f_blocks * use.f_frsize, use.f_bavail * use.f_frsize
    do = "--shm-size=1g (Docker), an emptyDir of medium Memory (Kubernetes); after a crash remove what is left in it"
    if total < SHM_LEAST_BYTES:
        return warning(f"{target.shm} has {total / 1e6:.0f} MB", do)
    if free < (1 - SHM_FULL) * total:
        return warning(f"{target.shm} is {1 - free / total:.0%} full", do)
    return fine(f"{target.shm} has {free / 1e6:.0f} of {total / 1e6:.0f} MB left")


async def check_growth(target: MachineTarget) -> Sequence[Verdict]:
    """Whether a process grows while it is looked at, its children included: an arena, or a leak."""
    sizes = await asyncio.gather(*(_sizes(target, pid) for pid in target.pids))
    verdicts: list[Verdict] = []
    for pid, seen in zip(target.pids, sizes, strict=True):
        if all(later - earlier > GREW_BYTES for earlier, later in pairwise(seen)):
            do = "an arena that meets new shapes, or a leak: watch it for longer; see Out of memory (operations)"
            grown, seconds = seen[-1] - seen[0], APART_S * (LOOKS - 1)
            verdicts += warning(f"process {pid} grows: by {grown / 1e6:.0f} MB within {seconds:.1f} s", do)
    return verdicts or fine(_looked_at(target, "a steady size"))


async def _sizes(target: MachineTarget, pid: int) -> list[int]:
    sizes = [resident_bytes(target, pid)]
    for _ in range(LOOKS - 1):
        await asyncio.sleep(APART_S)
        sizes.append(resident_bytes(target, pid))
    return sizes


def limits_of(target: MachineTarget, pid: int) -> Mapping[str, str]:
    """The soft limits of a process, by the kernel's names; OSError if there is no such process."""
    text = (target.proc / str(pid) / "limits").read_text()
    return dict(re.findall(r"(?m)^Max (.+?)\s{2,}(\S+)", text))


def resident_bytes(target: MachineTarget, pid: int) -> int:
    """Memory of a process and of those that it has started."""
    parents = {int(path.name): _parent(path.name, target) for path in target.proc.iterdir() if path.name.isdecimal()}
    family, new = {pid}, {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - family
        family |= new
    return sum(_resident_bytes(target, one) for one in family)


def _parent(pid: str, target: MachineTarget) -> int:
    return int(_status(target, pid).get("PPid", "0"))


def _resident_bytes(target: MachineTarget, pid: int) -> int:
    return 1024 * int(_status(target, str(pid)).get("VmRSS", "0 kB").split()[0])


def _status(target: MachineTarget, pid: str) -> Mapping[str, str]:
    try:
        text = (target.proc / pid / "status").read_text()
    except OSError:  # it has ended
        return {}
    return dict(re.findall(r"(?m)^(\w+):\s*(.*)$", text))


def _open_files(target: MachineTarget, pid: int) -> int:
    try:
        return len(list((target.proc / str(pid) / "fd").iterdir()))
    except OSError:  # another user's
        return 0


def _looked_at(target: MachineTarget, what: str) -> str:
    return f"{', '.join(map(str, target.pids))}: {what}" if target.pids else "no process was named (--pid)"
