"""The server process, with a few lines of Python in the place of tritonserver."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from triton_models.preconditions import PreconditionError
from triton_models.processes import group_members
from triton_models.runtime import TritonRuntime
from triton_models.server import Ports, TritonProcess, TritonStartError, command_line, failure_reason, is_free

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Triton runs on Linux only")

# Answers 200 to everything on the port after --http-port= and ends on SIGTERM, as Triton does.
HEALTHY = """
import http.server, sys
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
port = next(int(flag.partition("=")[2]) for flag in sys.argv if flag.startswith("--http-port="))
http.server.HTTPServer(("127.0.0.1", port), Ready).serve_forever()
"""
# Ignores SIGTERM, and so does its child: the stub of a model that hangs.
STUBBORN = "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.fork()" + HEALTHY.replace(
    "http.server.HTTPServer", "if os.getpid() != os.getpgrp(): signal.pause()\nhttp.server.HTTPServer"
)
BROKEN = r"""
print("failed to load 'rec' version 1: Internal: no such file\n\nAt:\n  model.py(1): run")
raise SystemExit(1)
"""
SILENT = "import time; time.sleep(60)"


@pytest.fixture
def fake_triton(tmp_path: Path) -> Iterator[Callable[[str], TritonProcess]]:
    """Makes a server process of the text of a program; stops it in the end."""
    made: list[TritonProcess] = []

    def make(program: str) -> TritonProcess:
        server = tmp_path / "tritonserver"
        server.write_text(f"#!{sys.executable}\n{program}")
        server.chmod(0o755)
        runtime = TritonRuntime(server, tmp_path / "backends", tmp_path / "bin", (tmp_path / "lib",))
        made.append(TritonProcess(runtime, tmp_path, log_file=tmp_path / "logs" / "triton.log", ports=Ports.free()))
        return made[-1]

    yield make
    for process in made:
        process.stop(timeout_s=0)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def shared_names(prefix: str) -> list[str]:
    return [path.name for path in Path("/dev/shm").iterdir() if path.name.startswith(prefix)]


def eventually(condition: Callable[[], bool]) -> bool:
    for _ in range(1000):
        if condition():
            return True
        time.sleep(0.01)
    return False


def test_free_ports_are_three_and_free() -> None:
    ports = Ports.free()
    chosen = {ports.http, ports.grpc, ports.metrics}
    assert len(chosen) == 3
    assert all(is_free(port) for port in chosen)


def test_a_port_that_someone_listens_on_is_not_free(taken_port: int) -> None:
    assert not is_free(taken_port)


def test_every_server_listens_on_the_loopback_interface_only() -> None:
    runtime = TritonRuntime(Path("/server"), Path("/backends"), Path("/bin"), ())
    flags = command_line(runtime, Path("/models"), Ports(), shm_prefix="p")
    assert [flag for flag in flags if "-address" in flag] == [
        "--http-address=127.0.0.1",
        "--grpc-address=127.0.0.1",
        "--metrics-address=127.0.0.1",
    ]


def test_the_command_line_has_absolute_paths_and_all_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runtime = TritonRuntime(Path("/server"), Path("backends"), Path("/bin"), ())
    line = command_line(
        runtime,
        Path("models"),
        Ports(http=1, grpc=2, metrics=3),
        shm_prefix="mine-",
        model_control="explicit",
        model_config_name="cpu",
        extra_flags=["--log-verbose=1"],
    )
    assert line[0] == "/server"
    assert {
        f"--model-repository={tmp_path}/models",
        f"--backend-directory={tmp_path}/backends",
        "--http-port=1",
        "--grpc-port=2",
        "--metrics-port=3",
        "--backend-config=python,shm-region-prefix-name=mine-",
        "--model-control-mode=explicit",
        "--model-config-name=cpu",
    } < set(line)
    assert line[-1] == "--log-verbose=1"


TWO_MODELS_DO_NOT_LOAD = """
E1129 a.cc:1] "failed to load 'rec' version 1: Internal: no file\\n\\nAt:\\n  model.py(1): run\\n"
E1129 a.cc:2] "failed to load 'rec'"
E1129 a.cc:1] "failed to load 'det' version 2: Internal: other"
error: creating server: Internal - failed to load all models
"""
BAD_CONFIGURATION = """
[libprotobuf ERROR a.cc:1] Error parsing text-format inference.ModelConfig: 8:6: no field named bogus
E1129 b.cc:1] "Poll failed for model directory 'rec': failed to read text proto from /config.pbtxt"
"""


@pytest.mark.parametrize(
    ("log", "reasons"),
    [
        ("", ["it printed nothing"]),
        ("\n+--+\n| a table |\n+--+\n\n", ["it printed nothing"]),
        ("loading: rec:1\n| a table |\n\n", ["loading: rec:1"]),
        ("tritonserver: unrecognized option '--x'\nUsage: ...", ["unrecognized option '--x'"]),
        (
            TWO_MODELS_DO_NOT_LOAD,
            ["failed to load 'rec' version 1: Internal: no file", "failed to load 'det' version 2: Internal: other"],
        ),
        (
            BAD_CONFIGURATION,
            [
                "Error parsing text-format inference.ModelConfig: 8:6: no field named bogus",
                "Poll failed for model directory 'rec': failed to read text proto from /config.pbtxt",
            ],
        ),
        ('E1129 a.cc:1] "failed to start HTTP service: Unavailable"', ["failed to start HTTP service: Unavailable"]),
    ],
)
def test_the_reason_is_found_in_the_log(log: str, reasons: list[str]) -> None:
    assert failure_reason(log) == "; ".join(reasons)


def test_a_server_is_ready_within_its_block_and_gone_after_it(fake_triton: Callable[[str], TritonProcess]) -> None:
    with fake_triton(HEALTHY) as server:
        assert server.is_ready()
        assert server.exit_code() is None
        pid = server.pid
        assert shared_names(server.shm_prefix) == [f"{server.shm_prefix}.lock"]
    assert group_members(pid) == []
    assert shared_names(server.shm_prefix) == []


def test_the_server_leads_its_own_process_group(fake_triton: Callable[[str], TritonProcess]) -> None:
    with fake_triton(HEALTHY) as server:
        assert group_members(server.pid) == [server.pid]


def test_children_that_ignore_signals_are_stopped_too(fake_triton: Callable[[str], TritonProcess]) -> None:
    server = fake_triton(STUBBORN)
    server.start()
    server.wait_ready()
    pid = server.pid
    assert len(group_members(pid)) == 2
    server.stop(timeout_s=0.1)
    assert group_members(pid) == []


def test_a_frozen_server_is_stopped_too(fake_triton: Callable[[str], TritonProcess]) -> None:
    server = fake_triton(HEALTHY)
    server.start()
    server.wait_ready()
    pid = server.pid
    os.kill(pid, signal.SIGSTOP)
    server.stop(timeout_s=0.1)
    assert group_members(pid) == []


def test_stopping_twice_or_before_starting_does_nothing(fake_triton: Callable[[str], TritonProcess]) -> None:
    server = fake_triton(HEALTHY)
    server.stop()
    server.start()
    server.stop()
    server.stop()


def test_a_stopped_server_can_be_started_again(fake_triton: Callable[[str], TritonProcess]) -> None:
    server = fake_triton(HEALTHY)
    for _ in range(2):
        with server:
            assert server.is_ready()


def test_a_server_that_ends_while_it_starts_says_why_at_once(fake_triton: Callable[[str], TritonProcess]) -> None:
    expected = r"ended while it started \(exit code 1\): failed to load 'rec' version 1: Internal: no such file \(log: "
    with pytest.raises(TritonStartError, match=expected), fake_triton(BROKEN):
        pass


def test_a_server_that_does_not_get_ready_says_so(fake_triton: Callable[[str], TritonProcess]) -> None:
    server = fake_triton(SILENT)
    server.start()
    with pytest.raises(TritonStartError, match=r"not ready after 0.2 s: it printed nothing \(log: "):
        server.wait_ready(timeout_s=0.2)


def test_who_waits_is_told_how_long_and_may_end_it(fake_triton: Callable[[str], TritonProcess]) -> None:
    server, waited = fake_triton(SILENT), []

    def while_waiting(elapsed_s: float) -> None:
        waited.append(elapsed_s)
        if len(waited) == 3:
            raise KeyError("enough")

    server.start()
    with pytest.raises(KeyError, match="enough"):
        server.wait_ready(60.0, while_waiting)
    assert 0 <= waited[0] < waited[1] < waited[2]


def test_a_stop_that_takes_long_is_over_when_the_server_is_killed(
    fake_triton: Callable[[str], TritonProcess],
) -> None:
    server = fake_triton(STUBBORN)
    server.start()
    server.wait_ready()
    pid = server.pid
    killing = threading.Timer(0.2, server.kill)
    killing.start()
    server.stop(timeout_s=600)
    killing.join()
    assert group_members(pid) == []
    assert shared_names(server.shm_prefix) == []


def test_killing_what_does_not_run_does_nothing(fake_triton: Callable[[str], TritonProcess]) -> None:
    server = fake_triton(HEALTHY)
    server.kill()
    server.start()
    server.kill()
    server.kill()
    server.stop()
    server.kill()


def test_the_reason_is_not_taken_from_an_earlier_run(fake_triton: Callable[[str], TritonProcess]) -> None:
    server = fake_triton(SILENT)
    server.log_file.parent.mkdir()
    server.log_file.write_text("failed to load 'rec' version 1: long ago\n")
    server.start()
    with pytest.raises(TritonStartError, match="it printed nothing"):
        server.wait_ready(timeout_s=0.1)
    assert server.log_file.read_text().startswith("failed to load")


def test_a_failed_start_leaves_nothing_behind(fake_triton: Callable[[str], TritonProcess]) -> None:
    server = fake_triton(BROKEN)
    with pytest.raises(TritonStartError), server:
        pass
    assert server.exit_code() is None
    assert server.shm_prefix != ""
    assert shared_names(server.shm_prefix) == []


def test_a_taken_port_is_named_before_anything_starts(
    fake_triton: Callable[[str], TritonProcess], taken_port: int
) -> None:
    server = fake_triton(HEALTHY)
    server.ports = Ports(http=server.ports.http, grpc=taken_port, metrics=server.ports.metrics)
    with pytest.raises(
        PreconditionError, match=rf"port {taken_port} on 127.0.0.1 is taken and Triton needs it for grpc"
    ):
        server.start()
    assert not server.log_file.exists()


STARTER = """
import sys, time
from pathlib import Path
from triton_models.runtime import TritonRuntime
from triton_models.server import Ports, TritonProcess
folder = Path(sys.argv[1])
runtime = TritonRuntime(folder / "tritonserver", folder, folder, ())
server = TritonProcess(runtime, folder, log_file=folder / "log", ports=Ports.free())
server.start()
print(server.pid, server.shm_prefix, flush=True)
time.sleep(60)
"""


def test_names_that_a_killed_server_left_are_removed_by_the_next(fake_triton: Callable[[str], TritonProcess]) -> None:
    server = fake_triton(HEALTHY)
    folder = server.log_file.parent.parent
    with subprocess.Popen([sys.executable, "-c", STARTER, folder], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        pid, prefix = starter.stdout.readline().split()
        starter.kill()
    assert eventually(lambda: group_members(int(pid)) == [])
    server.start()
    assert shared_names(prefix) == []
