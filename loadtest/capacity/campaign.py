"""The whole measurement, mix after mix: read this to see the order of things.

First every page of a mix is read alone, which warms everything up and says how long one takes. The first rate is well
below what can be done then.
"""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import httpx

from loadtest.accuracy.circumstances import ROOT
from loadtest.capacity.deployment import Deployment
from loadtest.capacity.errors import CapacityError
from loadtest.capacity.pages import DOCUMENTS, OWN, Mixes
from loadtest.capacity.samples import Recording
from loadtest.capacity.steps import StepResult, summarize
from loadtest.capacity.told import conclusion
from loadtest.capacity.usage import GENERATOR, Usage, usage
from loadtest.capacity.watching import Sources, Watch
from loadtest.gpu.pages import PageFile
from loadtest.processes import stop
from loadtest.stages.pages import ONE_LINERS, REFERENCE
from loadtest.terminal import say

LOCUST = ROOT / ".local" / "locust" / "bin" / "locust"
FILES = "loadtest/locustfile.py,loadtest/step_shape.py"
USERS: Mapping[str, str] = {
    "receipts": "Receipts",
    "dense": "Dense",
    "scene": "Scene",
    ONE_LINERS: "OneLiners",
    REFERENCE: "DrawnPage",
    OWN: "OwnFiles",
    DOCUMENTS: "Documents",
}
"""The class of `loadtest/locustfile.py` for each mix."""
FIRST_USERS = 10
FIRST_SHARE = 0.4
"""Of the rate at which pages are read one after the other."""
GROWTH = 1.5


@dataclass(frozen=True, slots=True)
class Plan:
    """How each mix is measured.

    Attributes:
        slo_ms: what P95 should stay below.
        step_s: length of a step, at least.
        step_requests: requests that should be due in it, at least.
        steps: at most.
        timeout_s: of a request.
        corpus, images: where the pages are; see `find_mixes`.
        api_key: of the client, if clients have some.
        out: folder for what was recorded.
    """

    slo_ms: float
    step_s: float
    step_requests: int
    steps: int
    timeout_s: float
    corpus: Path
    images: Path | None
    api_key: str
    out: Path


@dataclass(frozen=True, slots=True)
class MixResult:
    """What became of a mix.

    Attributes:
        mix: see there.
        files: how many different ones.
        alone_ms: mean time of one that is read alone.
        steps: in order.
        usages: of each step.
    """

    mix: str
    files: int
    alone_ms: float
    steps: tuple[StepResult, ...]
    usages: tuple[Usage, ...]


def measure(deployment: Deployment, mixes: Mixes, plan: Plan) -> Iterator[MixResult]:
    """All mixes, one after the other.

    Raises:
        CapacityError: pages can't be read even alone, or Locust does not work.
    """
    for mix, pages in mixes.items():
        result = measure_mix(deployment, mix, pages, plan)
        say(f"{mix}: {conclusion(result.steps, plan.slo_ms)}")
        yield result


def measure_mix(deployment: Deployment, mix: str, pages: Sequence[PageFile], plan: Plan) -> MixResult:
    """One mix in steps."""
    alone_s = read_alone(deployment.url, pages, plan)
    say(f"{mix}: {1000 * alone_s:.0f} ms alone")
    samples = plan.out / f"{mix}.jsonl"
    command = locust_command(deployment.url, mix, plan, FIRST_SHARE / alone_s)
    recording, watch = run_locust(command, deployment.sources, samples, plan.api_key)
    if not recording.steps:
        raise CapacityError(f"{mix}: Locust recorded no step (log: {samples.with_suffix('.log')})")
    results = tuple(summarize(step, recording.of_step(step)) for step in recording.steps)
    used = [usage(watch.between(step.began_at, step.ended_at), deployment.place) for step in recording.steps]
    return MixResult(mix, len(pages), 1000 * alone_s, results, tuple(used))


def read_alone(url: str, pages: Sequence[PageFile], plan: Plan) -> float:
    """Mean seconds of a file that is read while nothing else is; the first one only warms up."""
    taken = []
    with httpx.Client(base_url=url, timeout=plan.timeout_s, headers=key(plan.api_key), trust_env=False) as client:
        for page in (pages[0], *pages):
            began_at = time.perf_counter()
            answer = client.post("/v1/ocr", content=page.data, params={"timeout": plan.timeout_s})
            taken.append(time.perf_counter() - began_at)
            if not answer.is_success:
                raise CapacityError(f"{page.name}, alone: {answer.status_code} {answer.text[:300]}")
    return fmean(taken[1:])


def key(api_key: str) -> dict[str, str]:
    """The header of a client that has a key."""
    return {"X-Api-Key": api_key} if api_key else {}


def locust_command(url: str, mix: str, plan: Plan, first_rate: float) -> list[str]:
    """Locust on one mix in steps, without its web UI."""
    options = {
        "host": url,
        "rate": f"{first_rate / FIRST_USERS:.6g}",
        "timeout": f"{plan.timeout_s:g}",
        "corpus": str(plan.corpus),
        "samples": str(plan.out / f"{mix}.jsonl"),
        "step-seconds": f"{plan.step_s:g}",
        "step-requests": str(plan.step_requests),
        "first-users": str(FIRST_USERS),
        "growth": str(GROWTH),
        "steps": str(plan.steps),
        "slo-ms": f"{plan.slo_ms:g}",
        **({"images": str(plan.images)} if plan.images else {}),
    }
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    return [str(LOCUST), "-f", FILES, "--headless", "--only-summary", "--exit-code-on-error", "0", *flags, USERS[mix]]


def run_locust(command: Sequence[str], sources: Sources, samples: Path, api_key: str) -> tuple[Recording, Watch]:
    """Run it to its end and watch meanwhile."""
    log_file = samples.with_suffix(".log")
    with log_file.open("wb") as log:
        environment = {**os.environ, "OCR_API_KEY": api_key}
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, env=environment, start_new_session=True)
        try:
            with Watch(sources.also(GENERATOR, process.pid)) as watch:
                code = process.wait()
        finally:
            stop(process)
    if code:
        raise CapacityError(f"Locust ended with exit code {code} (log: {log_file})")
    return Recording.read(samples), watch
