"""What the document says of graphs, settings, memory of the whole service and a full card is what was measured."""

import pytest

from loadtest.gpu.report import full_card, graphs, tuned, whole
from loadtest.gpu.report.measured import Measured
from loadtest.gpu.results import Result
from loadtest.gpu.tuning import TUNINGS, Setting
from loadtest.gpu.whole_memory import MemorySample

STAGES = {"decode": 1.0, "crops": 2.0, "detect": 30.0, "recognize": 40.0, "reread": 5.0}


def measured(data: dict[str, object]) -> Measured:
    return Measured({name: Result(name, 1.0, None, value) for name, value in data.items()})


def load(p95: float = 300.0, *, pages: float = 10.0, megabytes: float = 20.0) -> dict[str, object]:
    return {
        "images_per_s": pages,
        "p50_ms": p95 / 2,
        "p95_ms": p95,
        "statuses": {"200": 10},
        "stages_ms": STAGES,
        "loopback_bytes": megabytes * 1e6,
        "lines": {"pages": 10.0},
        "usage": {"gpu_percent": 50.0, "cores": {"gateways": 2.0, "models": 1.0, "clients": 9.0}},
    }


def memory(*values: tuple[int, float]) -> list[MemorySample]:
    return [MemorySample(pages, mebibytes, mebibytes / 2, 1.0) for pages, mebibytes in values]


def test_the_gain_of_edited_graphs_is_told_in_pages_and_bytes():
    data: dict[str, object] = {
        "graphs-edited start": {"gpu_mib": 2048.0},
        "graphs-published start": {"gpu_mib": 4096.0},
    }
    for kind in graphs.KINDS:
        data[f"graphs edited {kind}, 8 under way"] = load(pages=40.0, megabytes=20.0)
        data[f"graphs published {kind}, 8 under way"] = load(pages=2.0, megabytes=900.0)
    told = graphs.gain(measured(data))
    assert "receipts 20 times as many pages a second with 45 times fewer bytes" in told
    assert "2.0 GiB, the published ones 4.0" in told


def test_bytes_of_a_page_are_those_of_all_over_the_pages():
    assert graphs.megabytes_a_page(load(megabytes=30.0)) == 3.0


def test_the_best_setting_is_that_of_both_runs():
    data: dict[str, object] = {}
    for repository, settings in TUNINGS.items():
        for setting in settings:
            data[f"{repository}, {setting.name}"] = data[f"first {repository}, {setting.name}"] = load(300.0)
    lucky, better = "tuned, 16 gateways, 1 threads, 2 calls", "tuned, 16 gateways, 2 threads, 4 calls"
    data[lucky] = load(190.0)
    data[better], data[f"first {better}"] = load(230.0), load(220.0)
    verdict = tuned.verdict(measured(data))
    assert "16 gateways with threads and calls of 2 and 4) misses 200 ms with 225 ms" in verdict
    assert "**300**, 190" in tuned.tuned(measured(data))


def test_a_gateways_own_work_is_what_does_not_wait_for_models():
    assert tuned.own_ms(load()) == 3.0


def test_runs_of_a_setting_differ_by_the_widest_of_them():
    trial = tuned.Trial("as advised", Setting(8, 2, 2), [load(300.0), load(350.0)])
    assert (trial.spread(), trial.mean(lambda point: point["p95_ms"])) == (50.0, 325.0)


@pytest.mark.parametrize(
    ("samples", "page"),
    [(memory((0, 5.0)), 0), (memory((0, 5.0), (50, 7.0), (90, 7.0)), 50), (memory((0, 7.0), (50, 5.0), (90, 7.0)), 90)],
)
def test_memory_is_flat_from_the_first_page_of_its_last_value(samples, page):
    assert whole.flat_since(samples) == page


def test_growth_counts_from_a_thousand_pages():
    samples = memory((0, 10.0), (999, 20.0), (1001, 30.0), (5000, 36.0))
    assert (whole.since_warm(samples, "gpu_mib"), whole.since_warm(samples, "triton_mib")) == (6.0, 3.0)


def test_of_texts_that_differ_by_names_and_numbers_one_is_shown():
    text = "failed to run '{}': running {} node. /onnxruntime_src/a/b.cc:360 void* f(Stream*) buffer of size {}\\n; "
    texts = {text.format("1x2", "Conv", 7): 1, text.format("3x4", "MaxPool", 9): 2, "CUDA failure 2": 3}
    assert full_card.by_kind(texts) == [
        ("failed to run '1x2': running Conv node. buffer of size 7", 3),
        ("CUDA failure 2", 3),
    ]
