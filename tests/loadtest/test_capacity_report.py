import ast
import itertools
import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from capacity_examples import receipts, sample

from loadtest.accuracy.circumstances import ROOT, Circumstances
from loadtest.capacity.__main__ import DOCUMENT, chosen, command, is_whole, main, parser
from loadtest.capacity.campaign import USERS, Plan, locust_command
from loadtest.capacity.chart import chart, round_rates
from loadtest.capacity.errors import CapacityError
from loadtest.capacity.pages import find_mixes
from loadtest.capacity.report import json_report, markdown
from loadtest.capacity.samples import Recorder, Recording, Step
from loadtest.capacity.steps import summarize
from loadtest.document import Markers, replace_generated

CIRCUMSTANCES = Circumstances("make capacity", "2026-12-01", {"gateway": "1"}, "ppocrv6-small", "2 cores")


def report(slo_ms=200.0):
    return markdown([receipts()], CIRCUMSTANCES, "one pair", slo_ms, [60, 6000])


def test_the_report_says_where_the_target_is_crossed_and_what_it_takes():
    text = report()
    assert "| receipts | 90 ms | 9.00/s | 10.0/s | at 7.00/s | processors | 7.00/s | 2 | 16 |" in text
    assert "P95 crosses 200 ms at 7.00/s. The knee is at 9.00/s (P95 300 ms)." in text
    assert "Full first, at 9.00/s: the processors of the machine (95%; cores: Triton 0.90, gateway 0.40, others" in text


def test_a_target_that_is_missed_at_the_first_step_is_told_as_such():
    text = report(slo_ms=50.0)
    assert (
        "P95 is above 50 ms at the first step already, which had 5.00/s: it was 100 ms there, and P50 100 ms." in text
    )
    assert "| before 5.00/s | processors | 7.00/s, by the peak | 2 | 16 |" in text


def test_figures_that_there_are_none_of_are_null():
    nothing = summarize(Step(1.0, 0.0, 1.0), [sample(0.0, 0.1, 503, "overloaded")])
    result = replace(receipts(), steps=(nothing,), usages=receipts().usages[:1])
    figures = json.loads(json_report([result], CIRCUMSTANCES, "one pair"))
    assert figures["mixes"][0]["steps"][0]["p95_ms"] is None
    assert "| 1.00/s (1) | 0.00/s | - | - | 1 x 503 overloaded |" in markdown([result], CIRCUMSTANCES, "x", 200.0, [60])
    ET.fromstring(chart([result], 200.0))


def test_the_chart_has_a_plot_of_times_and_one_of_what_is_in_use():
    root = ET.fromstring(chart([receipts(), receipts()], 200.0))
    lines = [node for node in root.iter() if node.tag.endswith("polyline")]
    assert len(lines) == 2 * (2 + 5)
    assert {len(line.attrib["points"].split()) for line in lines} == {3}


@pytest.mark.parametrize(
    ("most", "rates"), [(0.43, [0, 0.1, 0.2, 0.3, 0.4]), (1.0, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), (18.4, [0, 5, 10, 15])]
)
def test_rates_on_the_axis_are_round(most, rates):
    assert round_rates(most) == pytest.approx(rates)


def test_what_was_recorded_is_read_as_it_was(tmp_path):
    with (tmp_path / "samples.jsonl").open("w") as file:
        recorder = Recorder(file)
        recorder.add_sample(sample(1.0, 0.5))
        recorder.add_sample(sample(2.0, 0.5))
        recorder.add_step(Step(1.0, 1.0, 2.0))
    recording = Recording.read(tmp_path / "samples.jsonl")
    assert recording == recorder.recording()
    assert recording.of_step(recording.steps[0]) == [sample(1.0, 0.5)]


def test_files_of_ones_own_take_the_place_of_all_mixes(tmp_path):
    (tmp_path / "b.png").write_bytes(b"b")
    (tmp_path / "a.pdf").write_bytes(b"a")
    (tmp_path / ".hidden").write_bytes(b"h")
    mixes = find_mixes(tmp_path, tmp_path)
    assert {name: [page.name for page in pages] for name, pages in mixes.items()} == {"own": ["a.pdf", "b.png"]}


def test_a_folder_without_files_is_refused_by_name(tmp_path):
    with pytest.raises(CapacityError, match=f"{tmp_path}/none is no folder with files"):
        find_mixes(tmp_path, tmp_path / "none")


def test_without_a_corpus_there_is_a_drawn_page_and_a_document(tmp_path):
    mixes = find_mixes(tmp_path, None)
    assert {name: [page.name for page in pages] for name, pages in mixes.items()} == {
        "reference": ["reference.jpg"],
        "documents": ["scans.pdf"],
    }


def test_a_mix_without_files_is_refused_with_those_that_have_some():
    with pytest.raises(CapacityError, match="no files for forms, but for own"):
        chosen({"own": []}, ["own", "forms"])


def test_every_mix_has_its_users():
    names = {"DOCUMENTS": "documents", "OWN": "own", "ONE_LINERS": "one-liners"}
    names["REFERENCE"] = "reference"
    classes = [
        node
        for node in ast.parse((ROOT / "loadtest" / "locustfile.py").read_text()).body
        if isinstance(node, ast.ClassDef)
    ]
    found = {}
    for one in classes:
        value = next(node.value for node in one.body if isinstance(node, ast.Assign))
        found[names[value.id] if isinstance(value, ast.Name) else value.value] = one.name
    assert found == dict(USERS)


def test_locust_is_asked_for_the_first_rate_by_its_first_users():
    plan = Plan(200.0, 30.0, 20, 8, 30.0, ROOT, None, "", ROOT)
    command = locust_command("http://h", "dense", plan, 0.1)
    given = dict(itertools.pairwise(command))
    assert (given["--rate"], given["--first-users"], given["--step-requests"]) == ("0.01", "10", "20")
    assert command[-1] == "Dense"


def test_a_machine_that_others_use_is_told():
    busy = replace(receipts(), usages=tuple(replace(one, cores={"others": 0.9}) for one in receipts().usages))
    text = markdown([busy], CIRCUMSTANCES, "one pair", 200.0, [60])
    assert "Others took up to 0.90 cores meanwhile" in text
    assert "| processors, by others |" in text


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "make capacity"),
        (["--mixes", "scene"], 'make capacity ARGS="--mixes scene"'),
        (["--api-key", "k3y", "--host", "http://h"], 'make capacity ARGS="--api-key ... --host http://h"'),
        (["--api-key=k3y"], 'make capacity ARGS="--api-key=..."'),
    ],
)
def test_the_report_names_its_command_and_no_key(given, told):
    assert command(given) == told


def test_only_a_whole_run_belongs_into_the_document():
    text = DOCUMENT.read_text(encoding="utf-8")
    replace_generated(text, "", Markers.of("capacity"))
    assert not is_whole(parser().parse_args(["--mixes", "scene"]))
    assert not is_whole(parser().parse_args(["--host", "http://h"]))
    assert not is_whole(parser().parse_args(["--step-seconds", "5"]))


def test_without_locust_it_says_what_installs_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("loadtest.capacity.__main__.LOCUST", tmp_path / "locust")
    assert main([]) == 2
    assert "make capacity installs it" in capsys.readouterr().err
