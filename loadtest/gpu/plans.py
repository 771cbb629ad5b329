"""Which measurements a call makes, in the order of their worth: `python -m loadtest.gpu measure PLAN ...`."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from loadtest.gpu import faults, full_card, out_of_memory, replay, service, switching, tuning, whole_memory
from loadtest.gpu.bench import Bench
from loadtest.gpu.equality import compare, read_pages_through
from loadtest.gpu.mps import mps
from loadtest.gpu.pages import KINDS
from loadtest.gpu.service import Service
from loadtest.gpu.variants import Edit, all_of, combined, edited_copy, instances, little_memory, only, parameter
from triton_models.configs import BIASES_APART

TARGET_RATE = 50.0
FAULT_RATE = 40.0
TIGHT_MIB = 64
ONE_CALL = {"OCR_RECOGNITION_CALLS": "1"}
COMMON_PAGES = ("h1024_w768", "h736_w1312", "h2016_w736", "h2016_w1152", "h1760_w1280", "h2016_w1504")
MEMORY_S = {"buckets": 180.0, "widest": 60.0}


def equality(running: Service, ports: Sequence[int], model_set: str) -> dict[str, Any]:
    """The GPU's reading of all pages beside the CPU's."""
    reference = json.loads((running.stand.root / f"reference-{model_set}.json").read_text(encoding="utf-8"))
    pages = [page for page in sorted((running.stand.root / "pages").glob("*/*")) if page.name in reference]
    return compare(reference, asyncio.run(read_pages_through(ports, pages)))


def models_alone(running: Service, kind: str, ways: tuple[tuple[int, int], ...], seconds: float) -> dict[str, Any]:
    """Recorded tensors as fast as the models take them."""
    work = asyncio.run(replay.record(running.server.grpc_address, running.pages(kind)))
    path = running.stand.root / f"{kind}.npz"
    replay.save(work, path)
    points = []
    for processes, calls in ways:
        rate = replay.pages_per_second(
            running.server.grpc_address, path, processes=processes, calls_in_flight=calls, seconds=seconds
        )
        points.append({"processes": processes, "calls_in_flight": calls, "images_per_s": rate})
    return {"pages": work.pages, "chunks": len(work.chunks), "points": points}


def service_plan(bench: Bench, repository: str, model_set: str) -> None:
    """Everything that is asked of the whole service with one repository."""
    pace, count = bench.pace, bench.usual_gateways
    with bench.service(repository) as running:

        def measure(name: str, needs_s: float, function: Callable[..., Any], *arguments: object) -> None:
            bench.notebook.measure(f"{repository} {name}", needs_s, partial(function, running, *arguments))

        with running.gateways(count) as ready:
            measure("equality", 15, equality, ready.ports, model_set)
            for kind in pace.kinds:
                measure(f"sweep {kind}", 6 * (pace.seconds + 1) + 5, service.sweep, ready, kind, pace.seconds)
            for kinds in (*((kind,) for kind in pace.kinds), pace.kinds):
                name = kinds[0] if len(kinds) == 1 else "mixed"
                measure(f"target {name}", pace.steady_s + 3, service.steady, ready, kinds, TARGET_RATE, pace.steady_s)
        for kind in pace.kinds:
            needs_s = len(pace.replay) * (pace.seconds / 2 + 5) + 8
            measure(f"models alone {kind}", needs_s, models_alone, kind, pace.replay, pace.seconds / 2)
        kind, several = pace.kinds[0], pace.gateways
        if len(several) > 1:
            needs_s = len(several) * (pace.seconds + 8)
            measure("gateways", needs_s, service.scaling, kind, several, pace.seconds, {})
            measure("gateways, one call", needs_s / 2, service.scaling, kind, several[-2:], pace.seconds, ONE_CALL)


def peaks_plan(bench: Bench, repository: str, model_set: str) -> None:
    """With another variant of the models: their text, the peak of each kind of page, and the target."""
    pace = bench.pace
    with bench.service(repository) as running, running.gateways(bench.usual_gateways) as ready:

        def measure(name: str, needs_s: float, function: Callable[..., Any], *arguments: object) -> None:
            bench.notebook.measure(f"{repository} {name}", needs_s, partial(function, running, *arguments))

        measure("equality", 15, equality, ready.ports, model_set)
        for kind in pace.kinds:
            measure(f"peak {kind}", pace.seconds + 5, service.peak_of, ready, kind, pace.seconds)
        for name, kinds in (("receipts", ("receipts",)), ("forms", ("forms",)), ("mixed", pace.kinds)):
            measure(f"target {name}", pace.steady_s + 3, service.steady, ready, kinds, TARGET_RATE, pace.steady_s)
        for kind in pace.kinds:
            measure(f"models alone {kind}", 18, models_alone, kind, pace.replay, pace.seconds / 2)


def twice_plan(bench: Bench) -> None:
    """Two instances of every model."""
    models = bench.stand.root / "models"
    edited_copy(models / "small", models / "twice", instances(2))
    peaks_plan(bench, "twice", "small")


def shared_plan(bench: Bench) -> None:
    """Processes of models that share the GPU instead of taking turns on it."""
    models = bench.stand.root / "models"
    combined(models / "shared", {"text_*": models / "small"})
    with mps(bench.stand.root / "mps"):
        service_plan(bench, "shared", "small")


def shared_two_plan(bench: Bench) -> None:
    """The same with two instances of the detectors for common pages: pages of one size all go to the same model.

    The recognisers' biases are within the convolutions, as they were before `shared_apart_plan` was measured.
    """
    models = bench.stand.root / "models"
    within = [parameter(name, "") for name in BIASES_APART]
    edited_copy(models / "small", models / "shared-two", all_of(*two_of_common(), *within))
    with mps(bench.stand.root / "mps"):
        peaks_plan(bench, "shared-two", "small")


def shared_apart_plan(bench: Bench) -> None:
    """The same with biases apart."""
    models = bench.stand.root / "models"
    edited_copy(models / "small", models / "shared-apart", all_of(*two_of_common()))
    with mps(bench.stand.root / "mps"):
        peaks_plan(bench, "shared-apart", "small")


def best_plan(bench: Bench, model_set: str) -> None:
    """What is advised, from a repository as it is built: sharing, two instances of the detectors of common pages."""
    name = f"best-{model_set}"
    edited_copy(bench.stand.root / "models" / model_set, bench.stand.root / "models" / name, all_of(*two_of_common()))
    with mps(bench.stand.root / "mps"):
        service_plan(bench, name, model_set)


def tune_plan(bench: Bench) -> None:
    """What might bring receipts below the target, each beside what is advised."""
    models = bench.stand.root / "models"
    tuning.make_repositories(models, two_of_common())
    with mps(bench.stand.root / "mps"):
        for repository, settings in tuning.TUNINGS.items():
            with bench.service(repository) as running:
                for setting in settings:
                    make = partial(tuning.at_target, running, setting, TARGET_RATE, bench.pace.steady_s)
                    bench.notebook.measure(f"{repository}, {setting.name}", bench.pace.steady_s + 15, make)


def graphs_plan(bench: Bench) -> None:
    """The whole service with edited graphs and with published ones, whose every probability crosses gRPC."""
    models = bench.stand.root / "models"
    for name, source in (("graphs edited", "small"), ("graphs published", "original")):
        edited_copy(models / source, models / name.replace(" ", "-"), lambda _: None)
        with (
            mps(bench.stand.root / "mps"),
            bench.service(name.replace(" ", "-")) as running,
            running.gateways(bench.usual_gateways) as ready,
        ):
            for kind in ("receipts", "forms"):
                for under_way in (1, bench.usual_gateways):
                    make = partial(service.one_by_one, running, ready, kind, under_way, 2 * bench.pace.seconds)
                    bench.notebook.measure(f"{name} {kind}, {under_way} under way", 3 * bench.pace.seconds + 5, make)


def whole_memory_plan(bench: Bench) -> None:
    """Ten thousand mixed pages through the whole service."""
    models = bench.stand.root / "models"
    edited_copy(models / "small", models / "mixed", all_of(*two_of_common()))
    with (
        mps(bench.stand.root / "mps"),
        bench.service("mixed") as running,
        running.gateways(bench.usual_gateways) as ready,
    ):
        make = partial(whole_memory.memory_over_pages, running, ready, whole_memory.PAGES, bench.pace.mixed_s)
        bench.notebook.measure("memory of the whole service", 60, make)


def full_card_plan(bench: Bench) -> None:
    """A server that starts while somebody else has the card."""
    models, page = bench.stand.root / "models", next(iter((bench.stand.root / "pages" / "forms").iterdir()))
    edited_copy(models / "small", models / "full-card", lambda _: None)
    for free_mib in (128, 8192):
        make = partial(full_card.start_on_full_card, bench.stand, "full-card", page, free_mib)
        bench.notebook.measure(f"full card at the start, {free_mib} MiB free", 60, make)


def two_of_common() -> list[Edit]:
    """Two instances of some detectors; MPS takes 48 processes, so that there can't be two of all."""
    return [only(f"text_detection_{shape}", instances(2)) for shape in COMMON_PAGES]


def shared_half_plan(bench: Bench) -> None:
    """The same in half precision."""
    models = bench.stand.root / "models"
    combined(models / "shared-half", {"text_*": models / "float16"})
    with mps(bench.stand.root / "mps"):
        peaks_plan(bench, "shared-half", "small")


def half_plan(bench: Bench) -> None:
    """Recognisers in half precision, detectors as they were."""
    models = bench.stand.root / "models"
    combined(models / "half", {"text_detection*": models / "small", "text_recognition*": models / "float16"})
    peaks_plan(bench, "half", "small")


def faults_plan(bench: Bench) -> None:
    """Hangs and deaths under load, and a card without memory."""
    with bench.service("small") as running, running.gateways(4) as ready:
        suffered = (
            (faults.Fault("full card", out_of_memory.fill_card, 9.0), "full card"),
            (faults.hang(running), "hang"),
            (faults.death_of_model(running), "death of a model"),
            (faults.death_of_server(running), "death of the server"),
        )
        for fault, name in suffered:
            make = partial(faults.suffer, running, ready.ports, "forms", FAULT_RATE, fault)
            bench.notebook.measure(name, fault.seconds + 12, make)


def switch_plan(bench: Bench) -> None:
    """A further version of every recogniser, loaded while pages are read."""
    models = bench.stand.root / "models"
    edited_copy(models / "small", models / "switched", lambda _: None)
    with bench.service("switched", explicit=True) as running, running.gateways(4) as ready:
        make = partial(switching.switch_versions, running, ready.ports, "forms", FAULT_RATE)
        bench.notebook.measure("version switch", 100, make)


def tight_plan(bench: Bench) -> None:
    """Recognisers of 16 rows and more that run out of memory at every call."""
    models = bench.stand.root / "models"
    tight = little_memory(least_rows=16, mebibytes=TIGHT_MIB)
    edited_copy(models / "small", models / "tight", tight)
    with bench.service("tight") as running:
        texts = partial(out_of_memory.texts, running.server.grpc_address, "text_recognition_w320_r32", (32, 48, 320, 3))
        bench.notebook.measure("out of memory: texts", 15, texts)
        bench.notebook.measure("out of memory: service", 30, partial(out_of_memory_service, running))


def out_of_memory_service(running: Service) -> dict[str, Any]:
    """Pages read by recognisers that run out of memory: their text, and a load."""
    with running.gateways(2) as ready:
        return {
            "equality": equality(running, ready.ports, "small"),
            "load": running.peak(ready, running.pages("forms"), 4.0, per_gateway=2),
        }


def sessions_plan(bench: Bench) -> None:
    """The models without Triton, by shape; and the same sessions as threads and as processes."""
    models = bench.stand.root / "models"
    bench.module("sessions", "sessions", models, needs_s=135)
    bench.module("instances threads", "instances", "threads", models, needs_s=25)
    bench.module("instances processes", "instances", "processes", models, needs_s=25)


def kernels_plan(bench: Bench) -> None:
    """What the GPU does inside a model, and what might make it quicker."""
    models = bench.stand.root / "models"
    for repository in ("small", "float16"):
        bench.module(f"kernels {repository}", "kernels", models / repository, needs_s=40)
        bench.module(f"providers {repository}", "providers", models / repository, needs_s=60)
    with mps(bench.stand.root / "mps"):
        bench.module("instances processes, shared", "instances", "processes", models, needs_s=25)


def one_process_plan(bench: Bench) -> None:
    """The recorded calls of `service_plan` in one process."""
    works = [path for kind in KINDS if (path := bench.stand.root / f"{kind}.npz").exists()]
    for repository in ("small", "float16", "tiny"):
        models = bench.stand.root / "models" / repository
        bench.module(f"one process {repository}", "one_process", models, *works, needs_s=100)


def memory_plan(bench: Bench, layouts: Sequence[str] = ("buckets", "widest")) -> None:
    """Memory over pages."""
    models, reference = bench.stand.root / "models", bench.stand.root / "reference-small.json"
    for layout in layouts:
        bench.module(
            f"memory {layout}", "memory", layout, models, reference, MEMORY_S[layout], needs_s=MEMORY_S[layout]
        )


def peers_plan(bench: Bench) -> None:
    """Beside rapidocr, as one process and as many."""
    pages = bench.stand.root / "pages"
    bench.module("rapidocr tuned", "peer", "tuned", 1, pages, 6, needs_s=35)
    bench.module("rapidocr tuned, 8 processes", "peer", "tuned", 8, pages, 6, needs_s=50)
    with mps(bench.stand.root / "mps"):
        bench.module("rapidocr tuned, 16 processes", "peer", "tuned", 16, pages, 6, needs_s=70)
    bench.module("rapidocr default", "peer", "default", 1, pages, 8, needs_s=55)


def short(bench: Bench) -> Bench:
    """The same with less of everything, for what comes second."""
    return replace(bench, pace=replace(bench.pace, seconds=3.0, steady_s=6.0, gateways=(8,), replay=((8, 4),)))


def longer(bench: Bench) -> Bench:
    """Between that and the usual pace; the target is shown for as long as usual."""
    return replace(short(bench), pace=replace(short(bench).pace, seconds=4.0, steady_s=bench.pace.steady_s))


PLANS: dict[str, Callable[[Bench], None]] = {
    "small": lambda bench: service_plan(bench, "small", "small"),
    "tiny": lambda bench: service_plan(short(bench), "tiny", "tiny"),
    "float16": lambda bench: peaks_plan(short(bench), "float16", "small"),
    "half": lambda bench: half_plan(short(bench)),
    "shared": lambda bench: shared_plan(short(bench)),
    "shared-two": lambda bench: shared_two_plan(short(bench)),
    "shared-apart": lambda bench: shared_apart_plan(short(bench)),
    "shared-half": lambda bench: shared_half_plan(short(bench)),
    "twice": lambda bench: twice_plan(short(bench)),
    "best-small": lambda bench: best_plan(longer(bench), "small"),
    "best-tiny": lambda bench: best_plan(longer(bench), "tiny"),
    "tune": tune_plan,
    "graphs": lambda bench: graphs_plan(short(bench)),
    "whole-memory": whole_memory_plan,
    "full-card": full_card_plan,
    "faults": faults_plan,
    "switch": switch_plan,
    "tight": tight_plan,
    "sessions": sessions_plan,
    "kernels": kernels_plan,
    "one-process": one_process_plan,
    "memory": memory_plan,
    "buckets": lambda bench: memory_plan(bench, ("buckets",)),
    "peers": peers_plan,
}
