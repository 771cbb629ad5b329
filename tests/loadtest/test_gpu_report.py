"""The document about GPUs says what was measured, and nothing else."""

from pathlib import Path

import pytest

from loadtest.gpu.report import gap, promises, shapes, throughput
from loadtest.gpu.report.document import render, write_report
from loadtest.gpu.report.measured import Measured, MissingResultError, calls_per_page, cores, lost
from loadtest.gpu.results import Result, read_results

DOCUMENTS = Path(__file__).parents[2] / "docs"
KEPT = DOCUMENTS / "gpu" / "results.jsonl"


def measured(**data: object) -> Measured:
    """Results by name; spaces are underscores."""
    names = {name.replace("_", " "): value for name, value in data.items()}
    return Measured({name: Result(name, 1.0, None, value) for name, value in names.items()})


def point(pages: float, *, p95: float = 100.0, statuses: dict[str, int] | None = None) -> dict[str, object]:
    return {
        "images_per_s": pages,
        "p50_ms": p95 / 2,
        "p95_ms": p95,
        "statuses": statuses or {"200": 10},
        "lines": {"recognition_calls": 30.0, "pages": 10.0},
        "usage": {"cores": {"gateways": 3.0, "models": 1.0, "clients": 9.0}},
    }


def test_the_document_and_its_pictures_are_those_of_the_kept_results(tmp_path):
    write_report(read_results([KEPT]), tmp_path / "gpu.md", tmp_path)
    for name in ("gpu.md", "latency.svg", "memory-whole.svg", "memory-growth.svg", "memory-flat.svg"):
        kept = DOCUMENTS / name if name == "gpu.md" else KEPT.with_name(name)
        assert kept.read_text() == (tmp_path / name).read_text(), "run `python -m loadtest.gpu report`"


def test_every_place_of_the_template_is_filled():
    text = render(Measured(read_results([KEPT])))
    assert "{{" not in text
    assert "(not measured: " not in text


def test_what_was_not_measured_is_said_to_be_missing():
    assert render(measured(), "{{gateways}}") == "(not measured: small gateways)"


def test_a_failed_measurement_is_no_result():
    with pytest.raises(MissingResultError, match="small start"):
        Measured({"small start": Result("small start", 1.0, "broke", None)})["small start"]


def test_a_peak_is_the_first_load_of_a_sweep_or_a_load_of_its_own():
    results = measured(small_sweep_forms=[point(80), point(20)], tiny_peak_forms=point(90))
    assert (results.peak("small", "forms") or {})["images_per_s"] == 80
    assert (results.peak("tiny", "forms") or {})["images_per_s"] == 90
    assert results.peak("half", "forms") is None


def test_the_share_is_of_the_best_that_the_models_do_alone():
    alone = {"points": [{"images_per_s": 60.0}, {"images_per_s": 100.0}]}
    assert measured(small_peak_forms=point(80), small_models_alone_forms=alone).share("small", "forms") == 0.8


@pytest.mark.parametrize(
    ("loads", "expected"),
    [
        ([], None),
        ([point(10, p95=250)], 0.0),
        ([point(10), point(20, p95=199.9), point(30, p95=200)], 20),
        ([point(10), point(20, statuses={"200": 9, "503": 1})], 10),
    ],
)
def test_a_rate_is_within_the_target_if_it_is_quick_and_loses_nothing(loads, expected):
    results = measured(small_sweep_forms=[point(99), *loads])
    assert results.within_target("small", "forms") == expected


def test_figures_of_a_load():
    load = point(10, statuses={"200": 7, "0": 1, "503": 2})
    assert (lost(load), cores(load), calls_per_page(load)) == (3, 4.0, 3.0)


def test_targets_are_met_with_a_margin_or_missed():
    results = measured(small_target_forms=point(50, p95=150), small_target_dense=point(50, p95=900))
    assert throughput.verdicts(results, "small") == (["forms (150 ms, 25% to spare)"], ["dense (900 ms)"])


def test_a_forms_kernels_are_one_detection_and_its_share_of_recognition_calls():
    families = {"convolutions and products": {"us": 700.0}, "copies": {"us": 300.0}}
    model = {"us": 1000.0, "families": families}
    results = measured(
        small_models_alone_forms={"chunks": 6, "pages": 2, "points": []},
        kernels_small={"recognition": model, "detection": model},
        one_process_small={"forms": {"points": [{"images_per_s": 300.0}, {"images_per_s": 500.0}]}},
    )
    time = gap.kernel_time(results, "small")
    assert (time.in_all, time.unfused, time.per_s) == (4000.0, 1200.0, 250.0)
    assert gap.overlap(results) == 2.0


@pytest.mark.parametrize(
    ("curve", "page"), [([(1, 5.0)], 1), ([(1, 5.0), (4, 7.0), (9, 7.0)], 2), ([(1, 7.0), (4, 5.0), (9, 7.0)], 5)]
)
def test_memory_is_flat_since_it_last_changed(curve, page):
    assert promises.last_growth(curve) == page


@pytest.mark.parametrize(
    ("widths", "expected"),
    [
        ([], []),
        ([100], [1 * 160 / 10_240]),
        ([100] * 9 + [200], [32 * 160 / 10_240, 1 * 320 / 10_240]),
        ([5000] * 5, [4 * 2560 / 10_240, 1 * 2560 / 10_240]),
    ],
)
def test_calls_are_cut_as_the_layout_cuts_them(widths, expected):
    assert list(shapes.calls_for(widths, (160, 320, 2560), (1, 8, 32))) == expected


def test_a_calls_cost_is_a_line_through_the_times_of_its_sizes():
    cases = [
        {"label": "top1", "shape": [32, 48, 320, 3], "ms": 3.0},
        {"label": "top1", "shape": [16, 48, 320, 3], "ms": 2.0},
        {"label": "top1", "shape": [1, 736, 736, 3], "ms": 9.0},
        {"label": "tiny", "shape": [32, 48, 320, 3], "ms": 9.0},
    ]
    cost = shapes.cost(measured(sessions={"cases": cases}), "top1")
    assert cost.of([1.0, 0.5]) == pytest.approx(5.0)
