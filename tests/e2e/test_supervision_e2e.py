"""`ocr-gateway serve` with a Triton that breaks down: it is restarted, and the gateway answers 503 until it is back."""

import os
import shutil
import signal
import time
from contextlib import contextmanager

import pytest
from rendered_pages import lines_of_small_page, png, small_page
from serve_command import GATEWAY, SERVER, serving
from served_models import HOME

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

STUB = "triton_python_backend_stub"
RECOVERY_S = 120


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """One command for all faults. It forgives five of them."""
    with serving(tmp_path_factory.mktemp("supervision")) as served:
        yield served


@contextmanager
def recovery(served, note):
    """Runs a fault, and ends when a page is read again; notes how long that took. Until then every answer is a 503."""
    data = png(small_page(3))
    assert served.read(data).status_code == 200
    gateway, began_at = served.find(GATEWAY), time.monotonic()
    yield
    answers = []
    while not answers or answers[-1].status_code != 200:
        assert time.monotonic() < began_at + RECOVERY_S, served.said
        time.sleep(0.05)
        answers.append(served.read(data))
    note(time.monotonic() - began_at)
    *failed, good = answers
    assert {answer.status_code for answer in failed} == {503}
    assert good.json()["pages"][0]["text"].splitlines() == lines_of_small_page(3)
    assert served.find(GATEWAY) == gateway


def stub_of(served, model):
    (pid,) = (pid for pid, command in served.processes().items() if STUB in command and f"/{model}/" in command)
    return pid


def test_a_triton_that_is_killed_is_restarted(served, measured):
    with recovery(served, lambda took_s: measured(f"Triton killed: pages again after {took_s:.1f} s")):
        os.kill(served.find(SERVER), signal.SIGKILL)
    assert "triton ended by itself with exit code -9; restarting it" in served.said


def test_a_triton_that_hangs_is_restarted(served, measured):
    with recovery(served, lambda took_s: measured(f"Triton hung: pages again after {took_s:.1f} s")):
        os.kill(served.find(SERVER), signal.SIGSTOP)
    assert "gives no sign of life); restarting it" in served.said


@pytest.mark.parametrize("model", ["text_detection", "text_recognition"])
def test_a_triton_whose_model_has_died_is_restarted_although_it_says_that_it_is_ready(served, measured, model):
    with recovery(served, lambda took_s: measured(f"{model} died: pages again after {took_s:.1f} s")):
        os.kill(stub_of(served, model), signal.SIGKILL)
    assert f"triton does not work ({model}: the model's process has died); restarting it" in served.said


def test_a_triton_that_can_not_be_restarted_is_given_up_with_the_reason(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    for shared in ("triton", "wheels"):
        (home / shared).symlink_to(HOME / shared)
    with serving(tmp_path, home=home) as served:
        shutil.rmtree(home / "models" / "ppocrv6-small" / "text_recognition" / "1")
        os.kill(served.find(SERVER), signal.SIGKILL)
        served.wait_until_said("restart 1 of at most 5")
        assert served.read(png(small_page(3))).status_code == 503
        assert served.process.wait(120) == 1
        reason = served.said.splitlines()[-1]
        assert reason.startswith("ocr-gateway: triton did not start: Triton ended while it started (exit code 1): ")
        assert reason.endswith("; given up after 5 restarts in 10 min")
        assert served.processes() == {}
