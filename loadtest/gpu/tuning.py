"""Settings and repositories that might bring receipts below the target of 200 ms, tried one beside the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadtest.gpu.load import Offer
from loadtest.gpu.service import REQUESTS_PER_GATEWAY, WARM_UP_S, Point, Service, steady
from loadtest.gpu.variants import Edit, all_of, edited_copy, further_rows, instances, only

KIND = "receipts"
NARROW = "text_recognition_w160_r32"
BUSY_LINES = ("w160_r32", "w320_r32", "w640_r16")
"""The recognisers that receipts ask most."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How many gateways, and how they are set.

    Attributes:
        gateways: processes.
        threads: of each, for decoding and post-processing.
        calls: recognition calls that each may have under way.
    """

    gateways: int
    threads: int
    calls: int

    @property
    def name(self) -> str:
        """In the results."""
        return f"{self.gateways} gateways, {self.threads} threads, {self.calls} calls"


ADVISED, MORE = Setting(8, 2, 2), Setting(12, 2, 4)
TUNINGS: Mapping[str, Sequence[Setting]] = {
    "tuned": (
        ADVISED,
        Setting(8, 2, 4),
        Setting(8, 4, 4),
        Setting(12, 1, 2),
        MORE,
        Setting(16, 1, 2),
        Setting(16, 1, 4),
        Setting(16, 2, 4),
    ),
    "tuned-lines": (ADVISED, Setting(8, 2, 4), Setting(16, 1, 4)),
    "tuned-narrow": (ADVISED, Setting(8, 2, 4), Setting(16, 1, 4)),
}
"""By repository."""


def make_repositories(models: Path, edits: Sequence[Edit]) -> None:
    """With these edits: as it is; with two instances of busy recognisers; with a model of 64 narrow rows."""
    lines = [only(f"text_recognition_{shape}", instances(2)) for shape in BUSY_LINES]
    edited_copy(models / "small", models / "tuned", all_of(*edits))
    edited_copy(models / "small", models / "tuned-lines", all_of(*edits, *lines))
    edited_copy(models / "small", models / "tuned-narrow", all_of(*edits))
    further_rows(models / "tuned-narrow", NARROW, 64)


def at_target(service: Service, setting: Setting, rate: float, seconds: float) -> Point:
    """Receipts at this rate, after a closed loop that warms up."""
    environment = {"OCR_CPU_THREADS": str(setting.threads), "OCR_RECOGNITION_CALLS": str(setting.calls)}
    with service.gateways(setting.gateways, **environment) as ready:
        concurrency = REQUESTS_PER_GATEWAY * setting.gateways
        service.clients.send(Offer(ready.ports, WARM_UP_S, concurrency=concurrency), service.pages(KIND))
        return steady(service, ready, (KIND,), rate, seconds)
