import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from triton_models.processes import die_with_parent, group_members, interrupts_held_back, kill_group

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, as Triton needs Linux")

# Starts a child that dies with it, prints the child's id and waits.
STARTER = """
import subprocess, sys, time
from triton_models.processes import die_with_parent
print(subprocess.Popen(die_with_parent(sys.argv[1:]), start_new_session=True).pid, flush=True)
time.sleep(60)
"""
# A process that ignores SIGTERM, with a child that does so too; says when it is ready.
STUBBORN = "trap '' TERM; sleep 60 & echo ready; wait"


def eventually(condition: Callable[[], bool]) -> bool:
    for _ in range(1000):
        if condition():
            return True
        time.sleep(0.01)
    return False


def spawn(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


def output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_dies_with_its_parent(number: signal.Signals) -> None:
    with spawn([sys.executable, "-c", STARTER, "/bin/sleep", "60"]) as starter:
        assert starter.stdout is not None
        child = int(starter.stdout.readline())
        assert eventually(lambda: group_members(child) == [child])
        starter.send_signal(number)
        assert eventually(lambda: group_members(child) == [])


def test_the_child_becomes_the_command_itself() -> None:
    with spawn(die_with_parent(["/bin/sh", "-c", "echo $$"])) as child:
        assert child.stdout is not None
        assert int(child.stdout.readline()) == child.pid


def test_the_library_path_is_for_the_command() -> None:
    command = die_with_parent(["/bin/sh", "-c", "echo $LD_LIBRARY_PATH"], library_path="/somewhere")
    assert output(command) == "/somewhere"


def test_by_default_the_library_path_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/mine")
    assert output(die_with_parent(["/bin/sh", "-c", "echo $LD_LIBRARY_PATH"])) == "/mine"


def test_a_worker_thread_may_not_start_such_a_child() -> None:
    with ThreadPoolExecutor() as pool, pytest.raises(RuntimeError, match="main thread"):
        pool.submit(die_with_parent, ["/bin/true"]).result()


def test_a_group_without_processes_has_no_members() -> None:
    with spawn(["/bin/true"]) as child:
        child.wait()
    assert group_members(child.pid) == []


def test_a_zombie_is_no_member() -> None:
    with spawn(["/bin/true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert group_members(child.pid) == []


def test_a_group_is_killed_with_members_that_ignore_signals() -> None:
    with spawn(["/bin/sh", "-c", STUBBORN]) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        os.kill(child.pid, signal.SIGTERM)
        assert len(group_members(child.pid)) == 2
        kill_group(child.pid)
        assert group_members(child.pid) == []


def test_killing_a_group_that_is_gone_does_nothing() -> None:
    with spawn(["/bin/true"]) as child:
        child.wait()
    kill_group(child.pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_while_a_child_is_made_is_handled_when_its_id_is_known(number):
    seen: list[str] = []
    before = signal.signal(number, lambda *_: seen.append("interrupted"))
    try:
        with interrupts_held_back():
            signal.raise_signal(number)
            seen.append("made")
        signal.raise_signal(number)
    finally:
        signal.signal(number, before)
    assert seen == ["made", "interrupted", "interrupted"]
