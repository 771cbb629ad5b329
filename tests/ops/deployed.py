"""What is in `deploy/`, read for tests."""

import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from configparser import RawConfigParser
from pathlib import Path

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
SYSTEMD = DEPLOY / "systemd"

Values = Mapping[str, object]


def compose() -> Mapping[str, dict]:
    """The services of Compose."""
    return yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())["services"]


def networks() -> Mapping[str, dict]:
    """The networks of Compose."""
    return yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())["networks"]


def objects() -> Iterator[dict]:
    """Every object of Kubernetes as it is written, before kustomize patches it."""
    for path in sorted(KUBERNETES.rglob("*.yaml")):
        yield from (one for one in yaml.safe_load_all(path.read_text()) if "kind" in one)


def base(kind: str, name: str) -> dict:
    """One object that all overlays have."""
    files = sorted((KUBERNETES / "base").glob("*.yaml"))
    found = [one for path in files for one in yaml.safe_load_all(path.read_text())]
    return next(one for one in found if one["kind"] == kind and one["metadata"]["name"] == name)


def pod(workload: str, kind: str = "Deployment") -> dict:
    """What the pods of a workload are to be."""
    return base(kind, workload)["spec"]["template"]["spec"]


def container(workload: str, kind: str = "Deployment") -> dict:
    """The one container of such a pod."""
    (only,) = pod(workload, kind)["containers"]
    return only


def unit(name: str) -> RawConfigParser:
    """A unit of systemd."""
    parser = RawConfigParser(strict=False)
    parser.optionxform = str
    parser.read_string((SYSTEMD / name).read_text().replace("\\\n", ""))
    return parser


def environment_file(path: Path) -> Mapping[str, str]:
    """The variables that a file sets; those in comments as well, for they are there to be used."""
    return dict(re.findall(r"(?m)^(?:# )?([A-Z][A-Z0-9_]*)=(.*)$", path.read_text()))


def triton_commands() -> Mapping[str, list[str]]:
    """Every command line of Triton in deploy/, by where it stands; overlays' additions included."""
    services = compose()
    args = container("triton")["args"]
    found = {
        "compose gpu": services["triton-gpu"]["command"],
        "compose cpu": services["triton-cpu"]["command"],
        "kubernetes gpu": [*args, *added("gpu")],
        "kubernetes cpu": [*args, *added("cpu")],
        "systemd": shlex.split(unit("triton.service")["Service"]["ExecStart"]),
    }
    assert all(command[0].endswith("tritonserver") for command in found.values())
    return found


def added(overlay: str) -> list[str]:
    """What an overlay adds to Triton's command line."""
    text = (KUBERNETES / "overlays" / overlay / "kustomization.yaml").read_text()
    return re.findall(r"containers/0/args/-, value: (\S+)}", text)


def by_severity(log: str) -> str:
    """What the unit beside Triton's makes of its log: each line with the prefix that the journal knows."""
    program, *arguments = shlex.split(unit("triton-log.service")["Service"]["ExecStart"])
    return subprocess.run([program, *arguments], input=log, capture_output=True, text=True, check=True).stdout


def collected(line: str) -> Mapping[str, str]:
    """The members that a collector finds in a line of Triton's log; none if it stays as it is."""
    parsers = yaml.safe_load((DEPLOY / "logs" / "fluent-bit.yaml").read_text())["parsers"]
    (pattern,) = [one["regex"] for one in parsers if one["name"] == "triton"]
    found = re.match(pattern.replace("(?<", "(?P<"), line)  # Ruby's groups have another spelling
    return found.groupdict() if found else {}


def flags(command: list[str]) -> Mapping[str, str]:
    """Name and value of each flag."""
    return dict(one.removeprefix("--").partition("=")[::2] for one in command if one.startswith("--"))


def gateway_environments() -> Mapping[str, Mapping[str, str]]:
    """Settings of gateways, by where they stand; secrets are empty."""
    container_env = {one["name"]: one.get("value", "") for one in container("gateway")["env"]}
    own = unit("ocr-gateway@.service")["Service"]
    assert own["Environment"] == "OCR_PORT=%i"
    return {
        "compose": compose()["gateway-1"]["environment"],
        "kubernetes": container_env,
        "systemd": {**environment_file(SYSTEMD / "ocr-gateway.env"), "OCR_PORT": "8081"},
    }


def images() -> Iterator[str]:
    """Every image that is named anywhere."""
    yield from (service["image"] for service in compose().values())
    for one in objects():
        template = one.get("spec", {}).get("template", {}) if isinstance(one.get("spec"), dict) else {}
        yield from (item["image"] for item in template.get("spec", {}).get("containers", []) if "image" in item)
    yield from re.findall(r"PYTHON_IMAGE=(\S+)", (DEPLOY / "docker" / "Dockerfile").read_text())
