"""What was measured is read, compared and drawn without losing or inventing anything."""

import json
import sys
import time
from itertools import islice

import numpy as np
import pytest

from gateway.inference.contract import RecognitionContract, RecognitionModel
from loadtest.gpu.equality import compare
from loadtest.gpu.keeping import kept
from loadtest.gpu.memory import closed_calls, mixed_pages, thinned, widest_calls
from loadtest.gpu.plot import Axes, Line, Scale, plot, round_up
from loadtest.gpu.recording import line_width
from loadtest.gpu.replay import full_chunks
from loadtest.gpu.results import Notebook, Result, read_results, write_results
from loadtest.gpu.sampling import GpuSampler, Meter, cpu_seconds
from loadtest.gpu.scrape import gateway_figures, parse, triton_figures

PAGE = """\
# HELP nv_inference_exec_count Number of model executions performed
# TYPE nv_inference_exec_count counter
nv_inference_exec_count{model="det",version="1"} 4
nv_inference_exec_count{model="rec",version="1"} 2
nv_inference_exec_count{model="rec",version="2"} 3
nv_inference_queue_duration_us{model="det",version="1"} 8000
nv_inference_compute_infer_duration_us{model="det",version="1"} 20000
ocr_chunk_rows_sum 60
ocr_chunk_rows_count 6
ocr_line_pixels_total 75
ocr_padded_pixels_total 100
ocr_pages_total 3
"""


def line(text: str, *, score: float = 0.9, x: float = 0.0) -> dict[str, object]:
    return {"text": text, "score": score, "quad": [[x, 0.0], [9.0, 0.0], [9.0, 5.0], [x, 5.0]]}


def test_samples_are_summed_over_all_labels_but_the_model():
    counters = parse(PAGE)
    assert counters["nv_inference_exec_count", "rec"] == 5
    assert counters["ocr_pages_total", ""] == 3
    assert parse("") == {}


def test_figures_are_what_happened_between_two_readings():
    before, after = parse(PAGE), parse(PAGE.replace("} 4", "} 8").replace("} 8000", "} 20000"))
    assert triton_figures(before, after) == {"det": {"calls": 4, "queue_ms": 3.0, "compute_ms": 0.0}}
    assert gateway_figures({}, before) == {
        "recognition_calls": 6, "rows_per_call": 10.0, "padding": 0.25, "pages": 3.0, "lines": 0.0
    }  # fmt: skip
    assert gateway_figures(before, before)["rows_per_call"] == 0.0


@pytest.mark.parametrize(
    ("cpu", "gpu", "expected"),
    [
        ([], [], (0, 0, 1, [])),
        ([line("a"), line("b")], [line("a"), line("b")], (2, 2, 1, [])),
        ([line("a"), line("b")], [line("a"), line("c")], (2, 1, 0, [{"page": "p", "cpu": ["b"], "gpu": ["c"]}])),
        ([line("a"), line("b")], [line("b")], (2, 1, 0, [{"page": "p", "cpu": ["a"], "gpu": []}])),
    ],
)
def test_readings_are_compared_line_by_line(cpu, gpu, expected):
    result = compare({"p": {"lines": cpu}}, {"p": gpu})
    assert (result["lines"], result["lines_equal"], result["pages_equal"], result["differing"]) == expected


def test_gaps_of_scores_and_quads_are_the_largest():
    result = compare({"p": {"lines": [line("a"), line("b")]}}, {"p": [line("a", score=0.88), line("b", x=1.5)]})
    assert (result["largest_score_gap"], result["largest_quad_gap_px"]) == (0.02, 1.5)


def test_a_failed_measurement_is_written_down_and_the_next_one_made(tmp_path):
    said: list[str] = []
    notebook = Notebook(tmp_path / "results.jsonl", 60.0, said.append)
    notebook.measure("good", 1.0, lambda: {"x": 1})
    notebook.measure("bad", 1.0, lambda: 1 / 0)
    notebook.measure("long", 1000.0, lambda: {"x": 2})
    results = read_results([tmp_path / "results.jsonl"])
    assert (results["good"].data, results["good"].error) == ({"x": 1}, None)
    assert "ZeroDivisionError" in (results["bad"].error or "")
    assert (results["long"].error or "").startswith("not run")
    assert len(said) == 3


def test_of_two_results_with_a_name_the_later_with_data_counts(tmp_path):
    rows = [Result("a", 1.0, None, 1), Result("a", 1.0, None, 2), Result("a", 1.0, "broke", None)]
    (tmp_path / "r.jsonl").write_text(
        "".join(
            json.dumps({"name": r.name, "seconds": r.seconds, "error": r.error, "data": r.data}) + "\n" for r in rows
        )
    )
    assert read_results([tmp_path / "r.jsonl"])["a"].data == 2


def test_padding_is_no_part_of_a_line():
    row = np.full((48, 320, 3), 128, np.uint8)
    assert line_width(row) == 0
    row[10, 199, 1] = 129
    assert line_width(row) == 200


def test_recorded_lines_are_cut_into_full_chunks():
    models = tuple(RecognitionModel(f"r{rows}", "1", 320, rows=rows, max_rows=rows) for rows in (1, 8, 32))
    contract = RecognitionContract(models, 48, (320,), ("", "a"))
    lines = [np.full((48, 320, 3), value, np.uint8) for value in range(40)]
    assert [chunk.shape for chunk in full_chunks(lines, contract)] == [(32, 48, 320, 3), (8, 48, 320, 3)]
    assert list(full_chunks([], contract)) == []


def test_closed_shapes_hold_every_line():
    assert list(closed_calls(())) == []
    assert list(closed_calls((100, 160, 161, 2000, 5000))) == [(8, 48, 160, 3), (1, 48, 320, 3), (4, 48, 2560, 3)]
    assert list(closed_calls((100,) * 33)) == [(32, 48, 160, 3), (1, 48, 160, 3)]


def test_the_usual_padding_follows_the_widest_line_of_a_batch():
    assert list(widest_calls(())) == []
    assert list(widest_calls((100,) * 31 + (1001,) + (60, 61))) == [(32, 48, 1008, 3), (2, 48, 64, 3)]


def test_mixed_pages_are_the_same_for_a_seed_and_leave_out_pages_without_text(tmp_path):
    path = tmp_path / "reference.json"
    known = {"a": {"widths": [100, 300]}, "b": {"widths": []}}
    path.write_text(json.dumps(known))
    pages = list(islice(mixed_pages(path), 20))
    assert pages == list(islice(mixed_pages(path), 20))
    assert all(len(widths) == 2 and widths[0] < 121 for widths in pages)


def test_a_thinned_curve_keeps_its_end():
    assert thinned([]) == []
    assert thinned([(1, 2.0), (2, 3.0)]) == [(1, 2.0), (2, 3.0), (2, 3.0)]
    assert thinned([(count, 0.0) for count in range(1000)], most=10)[-1] == (999, 0.0)


def test_the_gpu_is_read_line_by_line_and_words_are_passed_over(tmp_path):
    measuring = tmp_path / "measuring"
    script = f"""
import pathlib, time
while not pathlib.Path({str(measuring)!r}).exists(): time.sleep(0.01)
print("12, 2048, 90.5\\n[N/A], 1, 2\\n50, 4096, 110.5", flush=True)
time.sleep(60)
"""
    with GpuSampler([sys.executable, "-c", script]) as gpu:
        meter = Meter(gpu, {"me": []})
        measuring.touch()
        while len(gpu.samples) < 2:
            time.sleep(0.01)
        usage = meter.stop()
    assert (usage.gpu_percent, usage.gpu_mib, usage.gpu_watts) == (31.0, 4096.0, 100.5)
    assert usage.cores == {"me": 0.0}


def test_without_a_gpu_there_are_no_samples():
    with GpuSampler(["/nonexistent/nvidia-smi"]) as gpu:
        assert Meter(gpu, {}).stop().gpu_percent is None


def test_processor_time_is_read_past_a_name_with_spaces(tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_text(f"7 (a ) b) S {' '.join(['0'] * 10)} 150 50 0")
    assert cpu_seconds(7, tmp_path) == pytest.approx(2.0, rel=0.5)  # at 100 ticks a second
    assert cpu_seconds(8, tmp_path) == 0.0


def test_a_plot_has_a_line_and_a_name_for_each_series():
    svg = plot([Line("p95 <ms>", [(0, 1), (100, 200)]), Line("p50", [])], Axes("images/s", "ms", mark=200))
    assert svg.count("<polyline") == 2
    assert "p95 &lt;ms&gt;" in svg
    assert "stroke-dasharray" in svg


def test_an_empty_plot_is_drawn():
    assert "<svg" in plot([], Axes("x", "y"))


@pytest.mark.parametrize(("value", "expected"), [(0.03, 0.05), (1.0, 1.0), (1.1, 2.0), (34.0, 50.0), (60.0, 100.0)])
def test_steps_of_a_scale_are_round(value, expected):
    assert round_up(value) == pytest.approx(expected)


def test_values_beyond_the_limit_are_drawn_at_the_edge():
    scale = Scale(200, 100)
    assert [scale.at(value) for value in (0, 100, 5000)] == [0, 50, 100]
    assert scale.ticks() == [0, 50, 100, 150, 200]


def load_of(**figures: object) -> dict[str, object]:
    models = {f"m{calls}": {"calls": calls, "queue_ms": 0.0, "compute_ms": 2.0} for calls in range(8)}
    return {"images_per_s": 1.0, "models": models, **figures}


def test_kept_results_have_few_models_and_examples_and_nothing_about_how_the_call_went():
    differing = [{"page": str(page), "cpu": list("abcdefgh"), "gpu": []} for page in range(20)]
    raw = [
        Result("plan small", 9.0, None, None),
        Result("sweep", 9.0, None, [load_of(), load_of()]),
        Result("equality", 9.0, None, {"pages": 20, "differing": differing}),
        Result("tight", 9.0, None, {"load": {}, "equality": {"differing": differing}}),
        Result("broken", 9.0, "RuntimeError", None),
    ]
    sweep, equality, tight, broken = kept(raw)
    assert list(sweep.data[0]["models"]) == ["m7", "m6", "m5", "m4", "m3", "m2"]
    assert sweep.data[1] == {"images_per_s": 1.0, "models": {}}
    assert (len(equality.data["differing"]), equality.data["differing"][0]["cpu"]) == (12, list("abcdef"))
    assert len(tight.data["equality"]["differing"]) == 12
    assert broken == raw[-1]


def test_results_that_are_written_are_read_again(tmp_path):
    results = [Result("a", 1.0, None, {"text": "Umlaut ä"}), Result("b", 2.0, "broke", None)]
    write_results(tmp_path / "new" / "r.jsonl", results)
    assert list(read_results([tmp_path / "new" / "r.jsonl"]).values()) == results
