"""`ocr-gateway serve` as a person at a terminal meets it: what it says, what it answers, and what it leaves behind."""

import os
import re
import shlex
import signal
import socket

import httpx
import pytest
from gateways import assert_same_answer
from rendered_pages import lines_of_small_page, png, small_page
from serve_command import GATEWAY, ROOT, Serving, eventually, serving

from gateway.canary import KNOWN_TEXT

# The first of them installs Triton and fetches the models, if no other test has.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def send_as_printed(said):
    """What curl would do with the line that was printed."""
    words = shlex.split(re.search(r"try it: +(.*)", said)[1])
    assert words[:3] == ["curl", "-sS", "--data-binary"]
    data = (ROOT / words[3].removeprefix("@")).read_bytes()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return httpx.post(words[4], content=data, headers=headers, trust_env=False, timeout=60)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_printed_line_is_answered_and_a_signal_leaves_nothing_behind(tmp_path, number):
    with serving(tmp_path) as served:
        assert f"http://127.0.0.1:{served.port}\n" in served.said
        answer = send_as_printed(served.said)
        assert (answer.status_code, answer.json()["pages"][0]["text"]) == (200, KNOWN_TEXT)
        assert len(served.processes()) >= 5, "itself, the gateway, Triton and a stub for each model"
        shared_memory = served.shared_memory()
        assert shared_memory
        os.killpg(served.process.pid, number)  # as a terminal does: all in the foreground get it
        assert served.process.wait(30) == 0
        assert served.processes() == {}
        assert not any(path.exists() for path in shared_memory)
        assert served.said.endswith("stopped\n")


def test_a_second_signal_makes_haste_and_leaves_nothing_behind_either(tmp_path):
    with serving(tmp_path) as served:
        shared_memory = served.shared_memory()
        assert shared_memory
        served.process.send_signal(signal.SIGINT)
        served.wait_until_said("closing: no new connections")
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(30) == 0
        assert served.processes() == {}
        assert not any(path.exists() for path in shared_memory)


def test_a_command_that_is_killed_takes_its_children_with_it(tmp_path):
    with serving(tmp_path) as served:
        served.process.kill()
        assert eventually(lambda: not served.processes(), within_s=30), served.processes()


def test_an_interrupt_while_triton_starts_leaves_nothing_behind(tmp_path):
    """Here as a shell's background job, which is born with the signal ignored."""
    served = Serving(tmp_path / "serve.log", through=["sh", "-c", 'trap "" INT; exec "$0" "$@"'])
    served.wait_until_said("starting Triton")
    assert eventually(lambda: len(served.processes()) >= 2, within_s=30)
    os.killpg(served.process.pid, signal.SIGINT)
    assert served.process.wait(30) == 0
    assert served.processes() == {}


def test_embedded_models_say_the_same_and_a_gateway_that_dies_is_named(tmp_path, gateway):
    data = png(small_page(3))
    on_triton = httpx.post(f"{gateway}/v1/ocr", content=data, trust_env=False, timeout=60).json()
    with serving(tmp_path, "--backend", "embedded") as served:
        embedded = served.read(data).json()
        assert_same_answer(embedded, on_triton)
        assert embedded["pages"][0]["text"].splitlines() == lines_of_small_page(3)
        os.kill(served.find(GATEWAY), signal.SIGKILL)
        assert served.process.wait(30) == 1
        assert served.said.endswith(
            "ocr-gateway: the gateway ended by itself with exit code -9; everything else was stopped\n"
        )
        assert served.processes() == {}


def test_a_port_that_is_taken_is_one_sentence_and_nothing_is_started(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        served = Serving(tmp_path / "serve.log", home=tmp_path / "home", port=port)
        assert served.process.wait(60) == 1
    assert served.said == (
        f"ocr-gateway: the gateway can't listen on 127.0.0.1:{port} (Address already in use): "
        "choose another with --port, or PORT= for make\n"
    )
    assert not (tmp_path / "home").exists()
    assert served.processes() == {}
