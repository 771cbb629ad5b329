import socket
import subprocess
import sys

import pytest

from gateway.__main__ import main, parser


def test_serve_has_defaults_for_everything():
    options = parser().parse_args(["serve"])
    assert (options.backend, options.host, options.port, options.model_set, str(options.home)) == (
        "triton",
        "127.0.0.1",
        8080,
        "ppocrv6-small",
        ".local",
    )


@pytest.mark.parametrize("arguments", [[], ["dance"], ["serve", "--backend", "magic"], ["serve", "--port", "x"]])
def test_a_command_that_is_not_understood_is_answered_with_the_usage(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: ocr-gateway")


def test_a_setting_that_is_wrong_is_one_sentence_and_exit_code_1(monkeypatch, capsys):
    monkeypatch.setenv("OCR_MAX_PIXEL", "1")
    assert main(["run"]) == 1
    assert capsys.readouterr().err == (
        "ocr-gateway: unknown setting OCR_MAX_PIXEL; the settings are in docs/configuration.md\n"
    )


@pytest.mark.parametrize("backend", ["triton", "embedded"])
def test_an_unknown_model_set_is_one_sentence_and_exit_code_1(tmp_path, capsys, backend):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    arguments = ["serve", "--backend", backend, "--model-set", "nope", "--port", str(port), "--home", str(tmp_path)]
    assert main(arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ocr-gateway: no model set 'nope'; there are ")


def test_the_usage_is_printed_without_loading_what_serves():
    program = "import sys; from gateway.__main__ import parser; parser(); print({'cv2', 'grpc'} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout == "set()\n"


def test_what_builds_models_has_its_own_options(capsys):
    with pytest.raises(SystemExit):
        main(["models", "build", "--help"])
    assert "--layout" in capsys.readouterr().out
    assert main(["models", "list"]) == 0
    assert "ppocrv6-small" in capsys.readouterr().out
