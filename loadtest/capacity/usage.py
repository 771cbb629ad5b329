"""What a deployment has and how much of it is used: readings of metrics pages, and the shares in between. Pure.

The gateway's and Triton's own metrics say all that a running deployment can be asked; processor time of the machine, of
Triton and of the load generator is known where they run here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from loadtest.gpu.scrape import Counters

FULL = 0.9
"""Share from which something counts as full: the mean over a step, and peaks are higher."""
LATE_LOOP_S = 0.05
"""Mean lag at which the event loop counts as full (docs/metrics.md)."""
MACHINE, LOOP, THREADS, SLOTS, PIXELS = "processors", "event loop", "threads", "slots", "pixels under way"
GATEWAY, TRITON, GENERATOR, OTHERS = "gateway", "Triton", "load generator", "others"
MODEL = "Triton's instances of "
DETECTION, RECOGNITION, QUEUE = WAITS = ("detection", "recognition", "Triton's queue")


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything at one moment.

    Attributes:
        at: on the wall clock, seconds.
        gateway: its metrics.
        triton: its metrics; empty if they are unknown.
        processor_s: processor time so far, by who took it; MACHINE is everybody.
    """

    at: float
    gateway: Counters
    triton: Counters
    processor_s: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Place:
    """What there is.

    Attributes:
        cores: of the machine; 0 if it is another one.
        instances: of each of Triton's models; none if they are unknown.
    """

    cores: int
    instances: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used in a time.

    Attributes:
        shares: of what there is, by name; 1 is all of it.
        cores: processor seconds a second, by who took them.
        loop_lag_ms: mean.
        waits_ms: mean time that a page waits for detection, a line for recognition, and a call in Triton's queue.
    """

    shares: Mapping[str, float]
    cores: Mapping[str, float]
    loop_lag_ms: float
    waits_ms: Mapping[str, float]

    def busiest_model(self) -> float | None:
        """The share of the instances of Triton's busiest model; None if it is unknown."""
        return max((share for name, share in self.shares.items() if name.startswith(MODEL)), default=None)

    def fullest(self) -> str | None:
        """The name of what is full; None if nothing is."""
        name = max(self.shares, key=lambda one: self.shares[one], default=None)
        return name if name is not None and self.shares[name] >= FULL else None


@dataclass(frozen=True, slots=True)
class Growth:
    """What happened between two readings.

    Attributes:
        before, after: see there.
    """

    before: Reading
    after: Reading

    @property
    def seconds(self) -> float:
        """Between them."""
        return self.after.at - self.before.at

    def gateway(self, name: str) -> float:
        """Growth of a counter of the gateway."""
        return grown(self.before.gateway, self.after.gateway, name)

    def triton(self, name: str, model: str) -> float:
        """Growth of a counter of Triton, for a model."""
        return grown(self.before.triton, self.after.triton, name, model)

    def mean(self, histogram: str) -> float:
        """Of what a histogram of the gateway has counted; 0 if nothing."""
        count = self.gateway(f"{histogram}_count")
        return self.gateway(f"{histogram}_sum") / count if count else 0.0

    def cores(self) -> dict[str, float]:
        """By who took them; the gateway's own figure where it runs elsewhere."""
        taken = {name: (self.after.processor_s[name] - spent) / self.seconds for name, spent in self.known().items()}
        if MACHINE in taken:
            taken[OTHERS] = max(0.0, taken[MACHINE] - sum(taken[name] for name in taken if name != MACHINE))
        return {GATEWAY: self.gateway("process_cpu_seconds_total") / self.seconds} | taken

    def known(self) -> dict[str, float]:
        """Processor time before, of those who were there all the time."""
        return {name: spent for name, spent in self.before.processor_s.items() if name in self.after.processor_s}


def grown(before: Counters, after: Counters, name: str, model: str = "") -> float:
    """Growth of a counter; from 0 if it was not there before."""
    return after.get((name, model), 0.0) - before.get((name, model), 0.0)


def usage(readings: Sequence[Reading], place: Place) -> Usage:
    """What was used from the first to the last of them."""
    if len(readings) < 2:
        return Usage({}, {}, 0.0, {})
    growth = Growth(readings[0], readings[-1])
    lag_s = growth.mean("ocr_event_loop_lag_seconds")
    cores = growth.cores()
    shares = {LOOP: lag_s / LATE_LOOP_S, **gauges(readings), **models(growth, place)}
    if place.cores and MACHINE in cores:
        shares = {MACHINE: cores[MACHINE] / place.cores, **shares}
    return Usage(shares, cores, 1000 * lag_s, waits(growth))


def gauges(readings: Sequence[Reading]) -> dict[str, float]:
    """Mean shares of what is in use of what there may be."""
    pairs = {
        THREADS: ("ocr_cpu_pool_jobs", "ocr_cpu_pool_threads"),
        SLOTS: ("ocr_admission_slots_in_use", "ocr_admission_slots"),
        PIXELS: ("ocr_admission_pixels_in_use", "ocr_admission_pixels_limit"),
    }
    return {name: mean_share(readings, used, most) for name, (used, most) in pairs.items()}


def mean_share(readings: Sequence[Reading], used: str, most: str) -> float:
    """Of one gauge in another, weighted by time."""
    spans = [(one.gateway, after.at - one.at) for one, after in pairwise(readings)]
    whole = sum(seconds for _, seconds in spans)
    shares = ((page.get((used, ""), 0.0) / (page.get((most, ""), 0.0) or 1.0), seconds) for page, seconds in spans)
    return sum(share * seconds for share, seconds in shares) / whole


def models(growth: Growth, place: Place) -> dict[str, float]:
    """How busy the instances of each model are."""
    return {
        f"{MODEL}{model}": compute_s(growth, model) / growth.seconds / count for model, count in place.instances.items()
    }


def compute_s(growth: Growth, model: str) -> float:
    """Seconds that a model has computed; Triton counts them for each request of a batch."""
    requests = growth.triton("nv_inference_request_success", model)
    runs = growth.triton("nv_inference_exec_count", model)
    counted_s = growth.triton("nv_inference_compute_infer_duration_us", model) / 1e6
    return counted_s * min(1.0, runs / requests) if requests else 0.0


def waits(growth: Growth) -> dict[str, float]:
    """Mean milliseconds."""
    queued = {model for name, model in growth.after.triton if name == "nv_inference_queue_duration_us"}
    calls = sum(growth.triton("nv_inference_request_success", model) for model in queued)
    queue_us = sum(growth.triton("nv_inference_queue_duration_us", model) for model in queued)
    return {
        DETECTION: 1000 * growth.mean("ocr_detection_wait_seconds"),
        RECOGNITION: 1000 * growth.mean("ocr_batcher_wait_seconds"),
        QUEUE: queue_us / calls / 1000 if calls else 0.0,
    }


def first_full(usages: Sequence[Usage]) -> tuple[int, str] | None:
    """The first step at which something is full, and what; None if nothing ever is."""
    found = ((number, one.fullest()) for number, one in enumerate(usages))
    return next(((number, name) for number, name in found if name is not None), None)
