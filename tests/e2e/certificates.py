"""Authorities and certificates, made by openssl."""

import shutil
import subprocess
from pathlib import Path

import pytest

NEEDS_OPENSSL = pytest.mark.skipif(
    not shutil.which("openssl"), reason="openssl is not on PATH (Debian: apt-get install openssl)"
)

NAME = "triton.test"


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_authority(folder: Path, days: int = 90) -> None:
    """`ca.pem`, and signed by it `server.pem` for NAME and `gateway.pem`, each with its key and good for so long."""
    folder.mkdir()
    new = ("-newkey", "rsa:2048", "-nodes")
    openssl(folder, "req", "-x509", *new, "-subj", "/CN=ca", "-days", "90", "-keyout", "ca.key", "-out", "ca.pem")
    (folder / "name").write_text(f"subjectAltName=DNS:{NAME}")
    for who in ("server", "gateway"):
        openssl(folder, "req", *new, "-subj", f"/CN={who}", "-keyout", f"{who}.key", "-out", f"{who}.csr")
        signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", str(days), "-extfile", "name")
        openssl(folder, "x509", "-req", "-in", f"{who}.csr", *signing, "-out", f"{who}.pem")
