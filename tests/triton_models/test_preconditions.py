import sys
from pathlib import Path

import pytest

from triton_models.preconditions import (
    Interpreter,
    PreconditionError,
    candidate_executables,
    check_platform,
    choose_interpreter,
    find_interpreters,
    library_name,
)


def fit(executable: str, version: tuple[int, int] = (3, 12)) -> Interpreter:
    return Interpreter(executable, version, Path("/usr/lib") / library_name(version))


def bare(executable: str, version: tuple[int, int] = (3, 12)) -> Interpreter:
    return Interpreter(executable, version, None)


def script(folder: Path, name: str, body: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def answering(folder: Path, name: str, *answer: object) -> str:
    return script(folder, name, "\n".join(f"echo '{line}'" for line in answer))


@pytest.mark.parametrize("glibc", [(2, 35), (2, 36), (3, 0)])
def test_x86_linux_with_a_new_enough_glibc_is_accepted(glibc: tuple[int, int]) -> None:
    check_platform("linux", "x86_64", glibc)


@pytest.mark.parametrize(
    ("system", "machine", "glibc", "complaint"),
    [
        ("darwin", "arm64", None, "x86-64 Linux only and this is darwin on arm64"),
        ("win32", "AMD64", None, "x86-64 Linux only and this is win32 on AMD64"),
        ("linux", "aarch64", (2, 39), "x86-64 Linux only and this is linux on aarch64"),
        ("linux", "x86_64", None, "glibc 2.35 and this machine has another C library"),
        ("linux", "x86_64", (2, 31), "glibc 2.35 and this machine has glibc 2.31"),
    ],
)
def test_another_platform_is_refused_with_the_way_out(
    system: str, machine: str, glibc: tuple[int, int] | None, complaint: str
) -> None:
    with pytest.raises(PreconditionError, match=complaint) as caught:
        check_platform(system, machine, glibc)
    assert "--backend embedded" in str(caught.value)


@pytest.mark.parametrize(
    ("found", "chosen"),
    [
        ([fit("a")], "a"),
        ([fit("a", (3, 11)), fit("b", (3, 12))], "a"),
        ([fit("old", (3, 10)), fit("new", (3, 14)), fit("b", (3, 11))], "b"),
        ([bare("static"), fit("b", (3, 11))], "b"),
        ([bare("static", (3, 13))], "static"),
    ],
)
def test_the_first_interpreter_with_a_stub_and_a_library_is_chosen(found: list[Interpreter], chosen: str) -> None:
    assert choose_interpreter(found).executable == chosen


@pytest.mark.parametrize(
    ("found", "complaint"),
    [
        ([], "one of Python 3.11, 3.12, 3.13 and this machine has none"),
        ([fit("a", (3, 10)), fit("b", (3, 14))], "this machine has 3.10, 3.14"),
        ([bare("/opt/python3.12")], r"/opt/python3.12 came without the shared library libpython3.12.so.1.0"),
        ([fit("a", (3, 10)), bare("b", (3, 11))], r"apt-get install python3.11 libpython3.11"),
    ],
)
def test_without_a_fit_interpreter_the_message_says_what_is_missing(found: list[Interpreter], complaint: str) -> None:
    with pytest.raises(PreconditionError, match=complaint) as caught:
        choose_interpreter(found)
    assert "--backend embedded" in str(caught.value)


def test_the_search_ends_at_the_first_fit_interpreter() -> None:
    rest = iter([fit("a"), fit("b")])
    choose_interpreter(rest)
    assert next(rest).executable == "b"


def test_the_running_interpreter_is_recognised() -> None:
    (found,) = find_interpreters([sys.executable])
    assert (found.executable, found.version) == (sys.executable, sys.version_info[:2])


def test_executables_that_do_not_answer_are_passed_over(tmp_path: Path) -> None:
    shim = script(tmp_path, "shim", "echo 'no such version' >&2; exit 127")
    assert list(find_interpreters([str(tmp_path / "absent"), shim])) == []


def test_the_library_is_looked_for_in_every_folder_named(tmp_path: Path) -> None:
    library = tmp_path / "lib" / "x86_64-linux-gnu" / "libpython3.12.so.1.0"
    library.parent.mkdir(parents=True)
    library.touch()
    python = answering(tmp_path, "python3.12", 3, 12, tmp_path / "lib", library.parent)
    assert list(find_interpreters([python])) == [Interpreter(python, (3, 12), library)]


def test_a_library_of_another_version_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "libpython3.11.so.1.0").touch()
    python = answering(tmp_path, "python3.12", 3, 12, tmp_path)
    assert list(find_interpreters([python])) == [Interpreter(python, (3, 12), None)]


def test_candidates_are_the_running_interpreter_and_then_all_of_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["a/python3.11", "b/python3.12", "b/python3.11", "b/python3.10"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setenv("PATH", f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    ordered = [str(tmp_path / name) for name in ("b/python3.12", "a/python3.11", "b/python3.11")]
    assert list(candidate_executables()) == [sys.executable, *ordered]
