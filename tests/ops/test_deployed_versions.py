"""Nothing is deployed that has a known hole: the oldest versions without, and the advisories that say so."""

import re
from pathlib import Path

import pytest

from tests.ops import deployed

ROOT = Path(__file__).parents[2]
LOCK_FILES = ("gateway.txt", "run.txt", "dev.txt")

IMAGES = {
    "nvcr.io/nvidia/tritonserver": ((26, 4), "CVE-2026-24264, CVE-2026-24266; CVE-2026-24207 and -24208 before 26.03"),
    "nginx": ((1, 30, 2), "CVE-2026-9256; CVE-2026-42945 before 1.30.1"),
    "prom/prometheus": ((3, 11, 3), "CVE-2026-42154, CVE-2026-44903; CVE-2026-40179 before 3.11.2"),
    "prom/alertmanager": ((0, 31, 1), "of its Go libraries"),
    "grafana/grafana": ((12, 4, 5), "roles through nested JWT claims; CVE-2026-28380 before 12.3.6"),
    "python": ((3, 13), "the last line with fixes that all packages have wheels for"),
}
"""Images of others: the oldest version that may be deployed, and what the one before had."""

OWN = {"ocr-gateway", "ocr-models"}

PACKAGES = {
    "starlette": ((1, 3, 1), "PYSEC-2026-249, PYSEC-2026-248, CVE-2026-48710; CVE-2025-62727, CVE-2024-47874 earlier"),
    "python-multipart": ((0, 0, 27), "CVE-2026-42561; CVE-2026-40347 before 0.0.26"),
    "h11": ((0, 16), "CVE-2025-43859"),
    "pillow": ((12, 2), "CVE-2026-40192"),
    "opencv-python-headless": ((4, 8, 1, 78), "CVE-2023-4863, in the libwebp that comes with it"),
    "pi-heif": ((1, 3), "libheif 1.21"),
}
"""Packages that read what strangers send: the oldest version without the advisory."""


def numbers(version):
    return tuple(int(number) for number in re.findall(r"\d+", version))


@pytest.mark.parametrize("image", sorted(set(deployed.images()) - OWN))
def test_no_image_is_older_than_the_fix_of_a_known_hole(image):
    name, _, tag = image.partition(":")
    if name in OWN:
        return
    floor, reason = IMAGES[name]
    assert numbers(tag.partition("-")[0]) >= floor, reason


def test_no_image_is_whatever_is_newest():
    assert [image for image in deployed.images() if image.partition(":")[2] == "latest"] == []
    assert [image for image in deployed.images() if ":" not in image and image not in OWN] == []


def locked(file):
    found = re.findall(r"(?m)^([a-z0-9-]+)==([^\s;]+)", (ROOT / "requirements" / file).read_text())
    return {(name, version) for name, version in found}


@pytest.mark.parametrize("file", LOCK_FILES)
@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_is_older_than_the_fix_of_a_known_hole(file, package):
    floor, reason = PACKAGES[package]
    versions = [version for name, version in locked(file) if name == package]
    assert versions, f"{file} has no {package} any more: take it out of this test"
    assert all(numbers(version) >= floor for version in versions), reason


def test_the_image_runs_what_was_tested():
    assert locked("run.txt") - locked("gateway.txt") == set()
    assert locked("gateway.txt") - locked("dev.txt") == set()


def test_the_image_has_neither_models_nor_what_builds_them():
    assert {name for name, _ in locked("run.txt")} & {"onnx", "onnxruntime", "hatchling"} == set()


def test_the_image_can_be_told_to_trace():
    assert {"opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"} <= {name for name, _ in locked("run.txt")}


def test_every_package_of_the_images_is_checked_against_its_hash():
    dockerfile = (deployed.DEPLOY / "docker" / "Dockerfile").read_text().replace("\\\n", " ")
    installs = re.findall(r"pip(?: --\S+)* install ([^&\n]*)", dockerfile)
    assert len(installs) == 4
    for arguments in installs:
        assert "--require-hashes" in arguments or ("--no-deps" in arguments and "/wheels/*.whl" in arguments)


def test_the_image_of_the_gateway_is_not_run_by_root():
    last = (deployed.DEPLOY / "docker" / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert re.search(r"(?m)^USER ([1-9]\d+):[1-9]\d+$", last)
    assert "HEALTHCHECK" in last
