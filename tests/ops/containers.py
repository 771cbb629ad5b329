"""`deploy/docker` and `deploy/compose`. No image is built: that takes a daemon and a registry."""

import tempfile
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from tests.deployed_nginx import DEPLOYED, nginx_is_missing
from tests.ops.programs import ProgramMissing, run

DOCKERFILE = ROOT / "deploy" / "docker" / "Dockerfile"
COMPOSE = ROOT / "deploy" / "compose"


def dockerfile() -> str:
    """Good practice, and the shell commands in it."""
    run("hadolint", ["--failure-threshold", "style", DOCKERFILE])
    return "no finding"


def compose() -> str:
    """Every member of the file is one that Compose knows."""
    run("check-jsonschema", ["--builtin-schema", "vendor.compose-spec", COMPOSE / "compose.yaml"])
    return "compose.yaml"


def nginx_in_compose() -> str:
    """nginx.conf with the gateways of Compose, whose addresses nginx does not need to reach for this."""
    if missing := nginx_is_missing():
        raise ProgramMissing(missing)
    with tempfile.TemporaryDirectory() as folder:
        for file in DEPLOYED.iterdir():
            text = file.read_text().replace("/var/log/nginx", folder)
            Path(folder, file.name).write_text(text)
        Path(folder, "gateways.conf").write_text((COMPOSE / "gateways.conf").read_text())
        run("nginx", ["-t", "-q", "-p", folder, "-c", f"{folder}/nginx.conf", "-g", f"pid {folder}/pid;"])
    return "with the addresses of compose.yaml"
