"""Starts the fuzzers, one after the other, each for a given time."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from tests.fuzz.seeds import write_seeds

HERE = Path(__file__).parent
SLOWEST_INPUT_S = 20
MEMORY_MB = 3000
LARGEST_INPUT_BYTES = 20_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a fuzzer.

    Attributes:
        name: of it.
        cases: inputs that it tried.
        passed: whether nothing was found.
        log: its output.
    """

    name: str
    cases: int
    passed: bool
    log: Path


def run_atheris(python: Path, folder: Path, seconds: int, *, seed: int | None = None) -> Outcome:
    """Coverage-guided inputs for header parsing, decoding, multipart and JSON. What is found stays in the folder."""
    corpus, log = folder / "corpus", folder / "atheris.log"
    write_seeds(corpus)
    command = [
        str(python),
        str(HERE / "targets.py"),
        f"-max_total_time={seconds}",
        f"-timeout={SLOWEST_INPUT_S}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-max_len={LARGEST_INPUT_BYTES}",
        f"-artifact_prefix={folder}/found-",
        *([] if seed is None else [f"-seed={seed}"]),
        str(corpus),
    ]
    status = _run(command, log)
    return Outcome("atheris", _number(r"Done (\d+) runs", log), status == 0, log)


def run_schemathesis(
    python: Path, folder: Path, address: str, *, seconds: int, cases: int, seed: int | None = None
) -> Outcome:
    """Requests made from the whole OpenAPI document, and all checks of their answers."""
    seeds, log = folder / "images", folder / "schemathesis.log"
    write_seeds(seeds)
    command = [str(python.with_name("schemathesis")), "--config-file", str(HERE / "schemathesis.toml")]
    command += ["run", f"{address}/openapi.json", "--checks", "all", "--max-examples", str(cases), "--no-color"]
    command += ["--max-time", str(seconds), "--continue-on-failure", "--phases", "examples,coverage,fuzzing"]
    command += [] if seed is None else ["--seed", str(seed)]
    hooks = {"SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE), "FUZZ_IMAGES": str(seeds)}
    status = _run(command, log, hooks, folder=folder)  # it keeps a cache where it runs
    return Outcome("schemathesis", _number(r"(\d+) generated", log), status == 0, log)


def run_hypothesis(folder: Path, examples: int) -> Outcome:
    """The property tests of what reads bytes, with many more examples than usual."""
    log = folder / "hypothesis.log"
    files = ["tests/web/test_json_body.py", "tests/web/test_multipart.py", "tests/ocr/test_any_file.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=0", *files]
    status = _run(command, log, {"FUZZ_EXAMPLES": str(examples)})
    return Outcome("hypothesis", examples * _number(r"(\d+) passed", log), status == 0, log)


def _run(command: list[str], log: Path, variables: dict[str, str] | None = None, *, folder: Path = ROOT) -> int:
    with log.open("wb") as output:
        return subprocess.run(
            command, cwd=folder, env=os.environ | (variables or {}), stdout=output, stderr=output, check=False
        ).returncode


def _number(pattern: str, log: Path) -> int:
    found = re.findall(pattern, log.read_text(errors="replace"))
    return int(found[-1].replace(",", "")) if found else 0
