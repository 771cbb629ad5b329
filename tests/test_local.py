import signal
import socket
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from gateway.local import (
    ChildDiedError,
    GatewayProcess,
    PairOptions,
    base_url,
    greeting,
    interruptible,
    require_alive,
    require_free_port,
    serve,
)
from triton_models.errors import UnknownModelSet
from triton_models.preconditions import PreconditionError


class Child:
    def __init__(self, name, code=None):
        self.name = name
        self._code = code

    def exit_code(self):
        return self._code


def options(host="127.0.0.1", port=8080, **choices):
    chosen = {"backend": "triton", "model_set": "ppocrv6-small", "home": Path("home"), **choices}
    return PairOptions(host=host, port=port, **chosen)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8080"),
        ("localhost", "http://localhost:8080"),
        ("0.0.0.0", "http://127.0.0.1:8080"),
        ("::", "http://[::1]:8080"),
        ("fe80::1", "http://[fe80::1]:8080"),
    ],
)
def test_the_url_is_one_that_a_client_on_this_machine_can_use(host, url):
    assert base_url(options(host)) == url


def test_the_greeting_has_a_line_to_paste():
    assert "curl -sS --data-binary @gateway/known_picture.png http://127.0.0.1:8080/v1/ocr\n" in greeting(options())
    assert Path("gateway/known_picture.png").is_file()


def test_a_free_port_is_fine():
    require_free_port("127.0.0.1", free_port())


def test_a_taken_port_is_refused_with_a_way_out():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PreconditionError, match=rf"127\.0\.0\.1:{port} .*--port"):
            require_free_port("127.0.0.1", port)


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(PreconditionError, match=r"192\.0\.2\.1:8080"):
        require_free_port("192.0.2.1", 8080)


@pytest.mark.parametrize("children", [[], [Child("a")], [Child("a"), Child("b")]])
def test_living_children_are_left_alone(children):
    require_alive(children)


@pytest.mark.parametrize("code", [0, 1, -9])
def test_a_child_that_has_ended_is_named_with_its_exit_code(code):
    with pytest.raises(ChildDiedError, match=f"b ended by itself with exit code {code};"):
        require_alive([Child("a"), Child("b", code), Child("c", 3)])


def test_a_gateway_that_does_not_start_is_not_waited_for(capfd):
    gateway = GatewayProcess({"OCR_PORT": "no number"}, options(port=free_port()))
    with gateway, pytest.raises(ChildDiedError, match="the gateway ended by itself with exit code 1"):
        gateway.wait_ready(60.0, [])
    assert "bad setting" in capfd.readouterr().err


def test_a_gateway_whose_triton_ends_is_not_waited_for():
    with (
        GatewayProcess({"OCR_PORT": str(free_port())}, options(port=free_port())) as gateway,
        pytest.raises(ChildDiedError, match="triton ended by itself with exit code -9"),
    ):
        gateway.wait_ready(60.0, [Child("triton", -9)])


def test_a_gateway_that_is_not_ready_says_why_now_and_then_and_in_the_end():
    port, said = free_port(), []
    nowhere = f"127.0.0.1:{free_port()}"
    environment = {"OCR_PORT": str(port), "OCR_TRITON_ADDRESSES": nowhere}
    with (
        GatewayProcess(environment, options(port=port)) as gateway,
        pytest.raises(PreconditionError, match=r"not ready after 6 s: .*can't be reached"),
    ):
        gateway.wait_ready(6.0, say=said.append)
    (line,) = said
    assert line.startswith("the gateway is not ready yet (5 s): ")
    assert "can't be reached" in line


def test_an_unknown_model_set_is_refused_before_anything_is_fetched(tmp_path):
    home = tmp_path / "home"
    with pytest.raises(UnknownModelSet, match="no model set 'nope'; there are ppocrv6-small"):
        serve(options(port=free_port(), model_set="nope", home=home), pytest.fail)
    assert not home.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_interrupts(number):
    with pytest.raises(KeyboardInterrupt), interruptible(pytest.fail):
        signal.raise_signal(number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_more_signals_make_haste_and_do_not_break_off_what_the_first_has_begun(number):
    done = []

    def serve_and_stop():
        with interruptible(lambda: done.append("hurry")), ExitStack() as stack:
            stack.callback(done.append, "stopped")
            stack.callback(signal.raise_signal, number)
            stack.callback(signal.raise_signal, number)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        serve_and_stop()
    assert done == ["hurry", "hurry", "stopped"]


def test_afterwards_signals_do_what_they_did_before():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with interruptible(pytest.fail):
        pass
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_gateway_that_is_killed_while_it_is_stopped_is_not_waited_for():
    """As the second Ctrl-C does it."""
    port = free_port()
    with GatewayProcess({"OCR_PORT": str(port), "OCR_TRITON_ADDRESSES": "127.0.0.1:1"}, options(port=port)) as gateway:
        gateway.kill()
        while gateway.exit_code() is None:
            time.sleep(0.01)
    assert gateway.exit_code() == -signal.SIGKILL
