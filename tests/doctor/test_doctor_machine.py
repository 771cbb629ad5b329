"""Limits, listeners and logs, on files as the kernel and Triton write them."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from gateway.doctor import exposure, machine, triton_log
from gateway.doctor.findings import Severity
from gateway.doctor.targets import MachineTarget

LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max locked memory         {locked:<20} {locked:<20} bytes
Max open files            {files:<20} 524288               files
"""
LISTENERS = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 00000000:1F41 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   2: 0100007F:1F42 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0 100 0 0 10 0
"""
LISTENERS_6 = """\
  sl  local_address                         remote_address                        st
   0: 00000000000000000000000001000000:1F40 00000000000000000000000000000000:0000 0A
   1: 00000000000000000000000000000000:1F42 00000000000000000000000000000000:0000 0A
"""
PORTS = (("http", 8000), ("grpc", 8001), ("metrics", 8002))


@pytest.fixture
def target(tmp_path):
    """A process 7 with generous limits, and a kernel that knows who listens."""
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(LISTENERS)
    (tmp_path / "net" / "tcp6").write_text(LISTENERS_6)
    allow(tmp_path)
    return MachineTarget((7,), PORTS, proc=tmp_path, shm=tmp_path)


def allow(proc, *, files="65536", locked="unlimited", opened=3):
    (proc / "7" / "fd").mkdir(parents=True, exist_ok=True)
    for number in range(opened):
        (proc / "7" / "fd" / str(number)).touch()
    (proc / "7" / "limits").write_text(LIMITS.format(files=files, locked=locked))


async def told(check, target):
    return [one.what for one in await check(target) if one.severity is not Severity.OK]


@pytest.mark.parametrize(
    ("files", "opened", "expected"),
    [
        ("65536", 3, []),
        ("unlimited", 3, []),
        ("1023", 3, ["process 7 has 3 of 1023 files open"]),
        ("1024", 900, ["process 7 has 900 of 1024 files open"]),
    ],
)
async def test_open_files(target, files, opened, expected):
    allow(target.proc, files=files, opened=opened)
    assert await told(machine.check_files, target) == expected


async def test_locked_memory_matters_beside_a_gpu(target):
    allow(target.proc, locked="8388608")
    assert await told(machine.check_locked_memory, target) == []
    (target.proc / "driver" / "nvidia").mkdir(parents=True)
    assert await told(machine.check_locked_memory, target) == ["process 7 may lock 8 MB"]


async def test_shared_memory_that_can_not_be_looked_at(target):
    (verdict,) = await machine.check_shared_memory(replace(target, shm=target.proc / "missing"))
    assert verdict.severity is Severity.UNKNOWN


async def test_shared_memory_is_no_matter_where_no_triton_is(target):
    """In a gateway's container, whose /dev/shm has 64 MB."""
    gateways = replace(target, pids=(), ports=(), shm=target.proc / "missing")
    assert await told(machine.check_shared_memory, gateways) == []


def test_memory_of_a_process_includes_that_of_its_children(target):
    for pid, parent, size in ((7, 1, 100), (8, 7, 20), (9, 8, 3), (10, 1, 50)):
        (target.proc / str(pid)).mkdir(exist_ok=True)
        (target.proc / str(pid) / "status").write_text(f"Name:\tx\nPPid:\t{parent}\nVmRSS:\t   {size} kB\n")
    assert machine.resident_bytes(target, 7) == 123 * 1024


def test_listeners_of_both_families_are_found(target):
    assert exposure.listening(target.proc) == [("0.0.0.0", 8001), ("127.0.0.1", 8000), ("::", 8002), ("::1", 8000)]


async def test_ports_that_listen_for_others(target):
    assert await told(exposure.check_ports, target) == [
        "Triton's grpc port 8001 listens on 0.0.0.0",
        "Triton's metrics port 8002 listens on ::",
    ]


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [("127.0.0.1", 8000, False), ("[::1]", 8000, False), ("127.0.0.1", 8001, True), ("192.0.2.7", 8000, True)],
)
def test_what_others_can_reach(target, host, port, expected):
    assert exposure.is_exposed(host, port, target.proc) is expected


LOG = """\
I1130 21:00:00.0 1 server.cc:1] "Started"
E1130 21:00:01.0 1 model.cc:1] failed to load 'text_detection' version 1: Internal: no such file
2026-11-30 bfc_arena.cc:376 Available memory of 3 is smaller than requested bytes of 9
E1130 21:00:02.0 1 stub.cc:1] Stub process 'text_recognition_0_0' is not healthy.
"""


def log_of(tmp_path, text):
    path = tmp_path / "log"
    path.write_text(text)
    return triton_log.TritonLog(path)


async def test_a_log_says_what_went_wrong(tmp_path):
    log = log_of(tmp_path, LOG)
    assert await told(triton_log.check_readable, log) == []
    assert await told(triton_log.check_memory, log) == ["1 lines say that memory ran out"]
    assert await told(triton_log.check_models, log) == ["the process of a model has died", "a model did not load"]


async def test_and_nothing_when_nothing_did(tmp_path):
    log = log_of(tmp_path, LOG.splitlines()[0])
    assert [await told(check, log) for check in (triton_log.check_memory, triton_log.check_models)] == [[], []]
    missing = triton_log.TritonLog(tmp_path / "missing")
    assert await told(triton_log.check_readable, missing) == ["the log can't be read"]


def test_a_log_can_be_piped_in():
    checks = [word for name in ("readable", "memory", "models") for word in ("--only", f"log-{name}")]
    command = [sys.executable, "-m", "gateway", "doctor", "--triton-log", "-", *checks]
    said = subprocess.run(command, input=LOG, capture_output=True, text=True, check=False)
    assert re.findall(r"(log-\w+) +(.*)", said.stdout) == [
        ("log-memory", "1 lines say that memory ran out"),
        ("log-models", "the process of a model has died"),
        ("log-models", "a model did not load"),
    ]
