"""Memory of the whole service over many mixed pages: the GPU's, and that of Triton's processes and the gateways.

Pages of all kinds come over HTTP, each also enlarged and reduced, so that detectors, buckets and rows of all sizes are
asked for. A thread looks at the memory while they are read.
"""

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from loadtest.gpu.load import OK, Offer
from loadtest.gpu.sampling import resident_mib
from loadtest.gpu.scrape import read_counters
from loadtest.gpu.service import REQUESTS_PER_GATEWAY, Service
from loadtest.gpu.stand import Gateways
from triton_models.processes import group_members

PAGES = 10_000
SCALES = (0.6, 1.2)
COPIES = 4
BURST_S = 10.0
"""Pages are sent for so long at a time, until there are enough."""
INTERVAL_S = 1.0


@dataclass(frozen=True, slots=True)
class MemorySample:
    """Memory at one moment.

    Attributes:
        pages: that were read by then.
        gpu_mib: of the whole GPU; None where there is none.
        triton_mib: resident memory of the server and of its models' processes.
        gateways_mib: the same of the gateways.
    """

    pages: int
    gpu_mib: float | None
    triton_mib: float
    gateways_mib: float


@dataclass(frozen=True, slots=True)
class Watch:
    """Looks at the memory of a service.

    Attributes:
        service: the server.
        ready: the gateways.
        samples: what was seen.
    """

    service: Service
    ready: Gateways
    samples: list[MemorySample] = field(default_factory=list)

    def look(self, pages_before: int) -> None:
        """Take one sample; pages count from a number."""
        gateways = [member for process in self.ready.processes for member in group_members(process)]
        gpu = self.service.gpu.samples
        self.samples.append(
            MemorySample(
                pages=pages_read(self.ready) - pages_before,
                gpu_mib=gpu[-1].mebibytes if gpu else None,
                triton_mib=round(resident_mib(group_members(self.service.server.pid)), 1),
                gateways_mib=round(resident_mib(gateways), 1),
            )
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        """Look again and again meanwhile, from before the first page until after the last one."""
        before, over = pages_read(self.ready), threading.Event()

        def repeat() -> None:
            while not over.wait(INTERVAL_S):
                self.look(before)

        self.look(before)
        thread = threading.Thread(target=repeat)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        self.look(before)


def memory_over_pages(service: Service, ready: Gateways, pages: int, seconds: float) -> dict[str, Any]:
    """Read so many mixed pages, or as many as the seconds allow, and say what memory they took."""
    files = scaled_pages(service.pages(*(folder.name for folder in kinds_of(service))), service.stand.root / "mixed")
    watch, statuses = Watch(service, ready), dict[str, int]()
    began_at = time.monotonic()
    with watch.running():
        while statuses.get(str(OK), 0) < pages and time.monotonic() - began_at < seconds:
            under_way = REQUESTS_PER_GATEWAY * len(ready.ports)
            offer = Offer(ready.ports, BURST_S, concurrency=under_way, seed=sum(statuses.values()), timeout_s=20.0)
            for sample in service.clients.send(offer, files):
                statuses[str(sample.status)] = statuses.get(str(sample.status), 0) + 1
    return {
        "files": len(files),
        "gateways": len(ready.ports),
        "seconds": round(time.monotonic() - began_at, 1),
        "statuses": statuses,
        "samples": [list(asdict(sample).values()) for sample in watch.samples],
    }


def kinds_of(service: Service) -> list[Path]:
    """The folders of pages."""
    return sorted((service.stand.root / "pages").iterdir())


def pages_read(ready: Gateways) -> int:
    """How many pages the gateways have read."""
    return int(read_counters(ready.ports).get(("ocr_pages_total", ""), 0.0))


def scaled_pages(pages: Sequence[Path], folder: Path, copies: int = COPIES, seed: int = 0) -> tuple[Path, ...]:
    """Each page in several sizes drawn at random, as JPEGs in the folder, all in random order."""
    rng, scaled = random.Random(seed), []
    folder.mkdir(exist_ok=True)
    for page in dict.fromkeys(pages):
        with Image.open(page) as image:
            original = image.convert("RGB")
        for copy in range(copies):
            scale = rng.uniform(*SCALES)
            path = folder / f"{page.stem}-{copy}.jpg"
            size = max(1, round(original.width * scale)), max(1, round(original.height * scale))
            original.resize(size, Image.Resampling.BILINEAR).save(path, quality=90)
            scaled.append(path)
    rng.shuffle(scaled)
    return tuple(scaled)
