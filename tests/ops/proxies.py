"""`deploy/nginx`, read by nginx itself."""

import subprocess
import tempfile
from pathlib import Path

from tests.deployed_nginx import DEPLOYED, LISTEN, Nginx, nginx_is_missing
from tests.ops.programs import CheckFailed, ProgramMissing, run

CERTIFICATE = "/etc/nginx/tls"


def nginx() -> str:
    """The configuration as it is, but for paths and addresses."""
    return _check(LISTEN)


def nginx_with_tls() -> str:
    """The same with `listen-tls.conf`, and a certificate made for the purpose."""
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = Path(folder, "privkey.pem"), Path(folder, "fullchain.pem")
        run("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=ocr", "-days", "1",
                        "-keyout", key, "-out", certificate])  # fmt: skip
        text = (DEPLOYED / "listen-tls.conf").read_text()
        listen = text.replace(CERTIFICATE, folder).replace("listen 8443", "listen {address}")
        return _check(listen.replace("server_name ocr;\n", ""))


def _check(listen: str) -> str:
    if missing := nginx_is_missing():
        raise ProgramMissing(missing)
    with tempfile.TemporaryDirectory() as folder:
        proxy = Nginx(Path(folder, "nginx"), [8081, 8082], listen=listen)
        try:
            proxy.check()
        except subprocess.CalledProcessError as error:
            raise CheckFailed(error.stderr) from error
    return f"{len(list(DEPLOYED.iterdir()))} files"
