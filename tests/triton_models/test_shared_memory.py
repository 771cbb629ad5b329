import os
import sys
from pathlib import Path

import pytest

from triton_models import shared_memory

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs flock")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_no_two_claims_share_a_prefix(tmp_path: Path) -> None:
    first, second = shared_memory.claim(tmp_path), shared_memory.claim(tmp_path)
    assert first.prefix != second.prefix
    os.close(first.lock)
    os.close(second.lock)


def test_names_of_a_living_server_are_kept(tmp_path: Path) -> None:
    claim = shared_memory.claim(tmp_path)
    (tmp_path / f"{claim.prefix}region").touch()
    shared_memory.remove_stale(tmp_path)
    assert names(tmp_path) == [f"{claim.prefix}.lock", f"{claim.prefix}region"]
    os.close(claim.lock)


def test_names_of_a_server_that_is_gone_are_removed(tmp_path: Path) -> None:
    claim = shared_memory.claim(tmp_path)
    (tmp_path / f"{claim.prefix}region").touch()
    os.close(claim.lock)
    shared_memory.remove_stale(tmp_path)
    assert names(tmp_path) == []


def test_names_of_others_are_never_removed(tmp_path: Path) -> None:
    (tmp_path / "triton_python_backend_shm_region_1").touch()
    (tmp_path / "other.lock").touch()
    shared_memory.remove_stale(tmp_path)
    assert names(tmp_path) == ["other.lock", "triton_python_backend_shm_region_1"]


def test_removing_one_prefix_leaves_the_rest(tmp_path: Path) -> None:
    mine, other = shared_memory.claim(tmp_path), shared_memory.claim(tmp_path)
    shared_memory.remove(mine.prefix, tmp_path)
    assert names(tmp_path) == [f"{other.prefix}.lock"]
    os.close(mine.lock)
    os.close(other.lock)
