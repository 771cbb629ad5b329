"""What `ocr-gateway models` makes of its options, before any server is asked."""

import pytest

from gateway.__main__ import main


@pytest.mark.parametrize("share", ["-1", "100.5", "ten", "nan"])
def test_a_share_is_a_percentage(share, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["models", "deploy", str(tmp_path), "--repository", str(tmp_path), "--share", share])
    assert ended.value.code == 2
    assert f"{share} is not a number from 0 to 100" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--triton-certificate", "a.pem"], "--triton-certificate and --triton-key go together"),
        (["--triton-key", "a.key"], "--triton-certificate and --triton-key go together"),
        (["--triton-certificate", "a.pem", "--triton-key", "a.key"], "need --triton-ca"),
        (["--triton-server-name", "triton"], "need --triton-ca"),
        (["--triton-ca", "not-there.pem"], "not-there.pem"),
    ],
)
def test_certificates_that_are_incomplete_or_not_there_are_said(options, message, tmp_path, capsys):
    assert main(["models", "status", "--repository", str(tmp_path), *options]) == 1
    assert message in capsys.readouterr().err
