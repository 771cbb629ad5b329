"""The whole service under load: figures of one load, and the series of loads that make a table."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loadtest.gpu.clients import Clients
from loadtest.gpu.load import Offer, summarize
from loadtest.gpu.sampling import GpuSampler, Meter, loopback_bytes, triton_groups
from loadtest.gpu.scrape import gateway_figures, read_counters, triton_figures
from loadtest.gpu.stand import Gateways, Stand, gateways
from triton_models.server import TritonProcess

SHARES_OF_PEAK = (0.3, 0.6, 0.8, 0.95, 1.3)
REQUESTS_PER_GATEWAY = 6
"""Under way at once in a closed loop: enough for full chunks, few enough to be let in."""
WARM_UP_S = 2.0

Point = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Service:
    """A server, with what loads and watches it.

    Attributes:
        stand: where everything lies.
        server: Triton, with the models under test.
        clients: send the load.
        gpu: watches the GPU.
    """

    stand: Stand
    server: TritonProcess
    clients: Clients
    gpu: GpuSampler

    @contextmanager
    def gateways(self, count: int, **settings: str) -> Iterator[Gateways]:
        """So many gateways on the server; settings by their names in the environment."""
        with gateways(count, self.server.grpc_address, self.stand.logs, settings) as ready:
            yield ready

    def pages(self, *kinds: str) -> tuple[Path, ...]:
        """The files of these kinds, the kinds in turn."""
        files = [sorted((self.stand.root / "pages" / kind).iterdir()) for kind in kinds]
        return tuple(path for group in zip_cycled(files) for path in group)

    def load(self, ready: Gateways, pages: tuple[Path, ...], offer: Offer) -> Point:
        """Send one load; what it met and what it used."""
        ports = (*ready.ports, self.server.ports.metrics)
        groups = {**triton_groups(self.server.pid), "gateways": ready.processes, "clients": self.clients.processes}
        before = read_counters(ports)
        sent_before = loopback_bytes()
        meter = Meter(self.gpu, groups)
        samples = self.clients.send(offer, pages)
        usage, sent, after = meter.stop(), loopback_bytes() - sent_before, read_counters(ports)
        return {
            "gateways": len(ready.ports),
            "rate": offer.rate,
            "concurrency": None if offer.rate else offer.concurrency,
            "seconds": offer.seconds,
            **asdict(summarize(samples, offer.seconds)),
            "usage": asdict(usage),
            "loopback_bytes": sent,
            "lines": gateway_figures(before, after),
            "models": triton_figures(before, after),
        }

    def peak(self, ready: Gateways, pages: tuple[Path, ...], seconds: float, *, per_gateway: int) -> Point:
        """A closed loop after a short one that warms up."""
        concurrency = per_gateway * len(ready.ports)
        self.clients.send(Offer(ready.ports, WARM_UP_S, concurrency=concurrency), pages)
        return self.load(ready, pages, Offer(ready.ports, seconds, concurrency=concurrency))


def zip_cycled(groups: Sequence[Sequence[Path]]) -> Iterator[tuple[Path, ...]]:
    """One of each group in turn, until the longest group is used up; shorter ones begin again."""
    for index in range(max(map(len, groups))):
        yield tuple(group[index % len(group)] for group in groups)


def sweep(service: Service, ready: Gateways, kind: str, seconds: float) -> list[Point]:
    """The peak of a closed loop, then open loops at shares of it."""
    pages, peak = service.pages(kind), peak_of(service, ready, kind, seconds)
    rates = [max(1.0, share * peak["images_per_s"]) for share in SHARES_OF_PEAK]
    offers = [Offer(ready.ports, seconds, rate=rate, seed=number) for number, rate in enumerate(rates)]
    return [peak, *(service.load(ready, pages, offer) for offer in offers)]


def peak_of(service: Service, ready: Gateways, kind: str, seconds: float) -> Point:
    """The peak of one kind of page."""
    return service.peak(ready, service.pages(kind), seconds, per_gateway=REQUESTS_PER_GATEWAY)


def scaling(
    service: Service, kind: str, counts: Sequence[int], seconds: float, settings: Mapping[str, str]
) -> list[Point]:
    """The peak with so many gateways."""
    points = []
    for count in counts:
        with service.gateways(count, **settings) as ready:
            points.append(peak_of(service, ready, kind, seconds))
    return points


def one_by_one(service: Service, ready: Gateways, kind: str, under_way: int, seconds: float) -> Point:
    """A closed loop with few requests under way, all of which may take their time."""
    return service.load(ready, service.pages(kind), Offer(ready.ports, seconds, concurrency=under_way, timeout_s=60.0))


def steady(service: Service, ready: Gateways, kinds: Sequence[str], rate: float, seconds: float) -> Point:
    """A fixed rate of pages of these kinds, mixed."""
    return service.load(ready, service.pages(*kinds), Offer(ready.ports, seconds, rate=rate))
