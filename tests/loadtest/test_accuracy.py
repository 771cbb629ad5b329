"""The accuracy comparison as a command, on made-up pages; the real one is `make accuracy`."""

import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from accuracy_examples import ANSWER, QUAD, label_of, page_of, reading_of

from loadtest.accuracy import __main__ as command_line
from loadtest.accuracy.circumstances import ROOT
from loadtest.accuracy.corpus import quick_selection, read_labels, smallest_of_each_group, to_page, write_labels
from loadtest.accuracy.errors import AccuracyError
from loadtest.accuracy.readings import Reading, read_in_turns, write_predictions


class TestCorpus:
    def test_a_page_belongs_to_the_group_that_its_name_begins_with(self):
        page = page_of("enpdf_nics_1330cells.png")
        assert (page.stem, page.group) == ("enpdf_nics_1330cells", "enpdf")

    def test_lines_to_be_ignored_are_not_counted(self):
        label = label_of("a_1.png", ["one", "two"])
        label["lines"][0]["ignore"] = True
        assert to_page(label).line_count == 1

    def test_labels_survive_being_written(self, tmp_path):
        pages = [page_of("a_1.png", ["中文"]), page_of("b_1.png", level="word", complete=False)]
        write_labels(pages, tmp_path / "labels.jsonl")
        assert read_labels(tmp_path) == pages

    def test_a_missing_corpus_is_named_with_the_way_out(self, tmp_path):
        with pytest.raises(AccuracyError, match=r"no labelled corpus at .*--corpus"):
            read_labels(tmp_path)

    @pytest.mark.parametrize(
        ("widths", "chosen"),
        [
            ({}, []),
            ({"a_1.png": 9}, ["a_1"]),
            ({"a_1.png": 9, "b_1.png": 5, "a_2.png": 8}, ["b_1", "a_2"]),
            ({"a_1.png": 9, "a_2.png": 9}, ["a_1"]),
        ],
    )
    def test_a_sample_has_the_smallest_page_of_each_group(self, widths, chosen):
        pages = [page_of(file, width=width) for file, width in widths.items()]
        assert [page.stem for page in smallest_of_each_group(pages)] == chosen

    def test_the_quick_pages_are_small_have_several_lines_and_are_fully_labelled(self):
        texts = ["one", "two", "three"]
        pages = [
            page_of("large_1.png", texts, width=900),
            page_of("small_1.png", texts, width=100),
            page_of("short_1.png", ["one"]),
            page_of("partial_1.png", texts, complete=False),
            page_of("words_1.png", texts, level="word"),
            page_of("derived_1.png", texts),
        ]
        assert [page.stem for page in quick_selection(pages)] == ["small_1", "large_1"]

    def test_there_are_ten_quick_pages(self):
        pages = [page_of(f"a_{number}.png", ["one", "two", "three"]) for number in range(12)]
        assert len(quick_selection(pages)) == 10


class NotingReader:
    """Notes what it reads in a list shared with others."""

    def __init__(self, name, log):
        self.name = name
        self._log = log

    def read(self, image):
        self._log.append(f"{self.name}{image.name}")
        return Reading(seconds=1.0)


class TestReadings:
    def test_readers_take_turns_page_by_page_and_in_going_first(self):
        log = []
        readers = [NotingReader("A", log), NotingReader("B", log)]
        pages = [page_of("1"), page_of("2"), page_of("3")]
        read_in_turns(readers, pages, Path(), lambda *_: None)
        assert log == ["A1", "B1", "B2", "A2", "A3", "B3"]

    def test_progress_hears_of_each_page_with_every_reading(self):
        heard = []
        readers = [NotingReader("A", []), NotingReader("B", [])]
        read_in_turns(readers, [page_of("x_1.png")], Path(), lambda *event: heard.append(event))
        [(number, page, readings)] = heard
        assert (number, page.stem, sorted(readings)) == (1, "x_1", ["A", "B"])

    def test_predictions_have_the_form_that_the_scorer_reads(self, tmp_path):
        label = label_of("a_1.png", ["中文"])
        write_predictions({label["file"]: reading_of(label)}, tmp_path / "predictions.jsonl")
        [row] = map(json.loads, (tmp_path / "predictions.jsonl").read_text(encoding="utf-8").splitlines())
        assert row["file"] == "images/a_1.png"
        assert row["lines"] == [{"quad": [list(corner) for corner in QUAD], "text": "中文", "score": 1.0}]


def options_of(*arguments):
    return command_line.to_options(command_line.parser().parse_args(arguments), arguments)


class TestCommandLine:
    @pytest.mark.parametrize(
        ("arguments", "document", "judged", "beside_library"),
        [
            ([], "docs/accuracy.md", True, True),
            (["--no-document"], None, True, True),
            (["--limit", "3"], None, False, True),
            (["--sample"], None, False, True),
            (["--quick"], None, True, False),
        ],
    )
    def test_only_the_whole_corpus_writes_the_document_and_parts_are_not_judged(
        self, arguments, document, judged, beside_library
    ):
        options = options_of(*arguments)
        assert options.document == (None if document is None else ROOT / document)
        assert (bool(options.floors), options.beside_library) == (judged, beside_library)

    def test_a_document_that_was_asked_for_is_written_in_any_case(self):
        assert options_of("--sample", "--document", "some.md").document == Path("some.md")

    @pytest.mark.parametrize(("arguments", "count"), [([], 4), (["--limit", "3"], 3), (["--sample"], 2)])
    def test_the_options_choose_the_pages(self, arguments, count):
        pages = [page_of("a_1.png"), page_of("a_2.png"), page_of("a_3.png"), page_of("b_1.png")]
        assert len(options_of(*arguments).choose(pages)) == count

    def test_no_pages_are_no_comparison(self, small_corpus, capsys):
        assert command_line.main(["--corpus", str(small_corpus), "--limit", "0"]) == 2
        assert "no page was chosen" in capsys.readouterr().err

    def test_without_a_corpus_there_is_no_comparison(self, tmp_path, capsys):
        assert command_line.main(["--corpus", str(tmp_path)]) == 2
        assert "no labelled corpus" in capsys.readouterr().err


@pytest.fixture
def small_corpus(tmp_path, scorer):
    """Two pages of three lines, whose images are their names."""
    folder = tmp_path / "corpus"
    (folder / "images").mkdir(parents=True)
    labels = [label_of(file, ["first line", "second line", "third line"]) for file in ("a_1.png", "b_1.png")]
    write_labels([to_page(label) for label in labels], folder / "labels.jsonl")
    for label in labels:
        (folder / label["file"]).write_text(label["file"])
    shutil.copy(scorer, folder)
    return folder


@pytest.fixture
def gateway():
    """A gateway that answers with the lines set for the body, and 503 for None."""
    lines_by_body = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            lines = lines_by_body.get(body, [])
            answer = json.dumps({**ANSWER, "pages": [{"lines": lines}]}).encode()
            self.send_response(503 if lines is None else 200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            """Stay silent."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", lines_by_body
        server.shutdown()
        thread.join()


def perfect_answers(corpus):
    return {
        page.file.encode(): [{**line, "score": 1.0} for line in page.label["lines"]] for page in read_labels(corpus)
    }


class TestQuickRun:
    def run(self, small_corpus, url):
        out = small_corpus.parent / "out"
        return command_line.main(["--quick", "--gateway", url, "--corpus", str(small_corpus), "--out", str(out)])

    def test_a_gateway_that_reads_everything_passes(self, small_corpus, gateway, capsys):
        url, lines_by_body = gateway
        lines_by_body.update(perfect_answers(small_corpus))
        assert self.run(small_corpus, url) == 0
        output = capsys.readouterr()
        assert "| page_score | 1.0000 | 0.9000 (required) | holds |" in output.out
        assert "1/2  a_1: gateway" in output.err

    def test_results_are_kept(self, small_corpus, gateway):
        url, lines_by_body = gateway
        lines_by_body.update(perfect_answers(small_corpus))
        self.run(small_corpus, url)
        out = small_corpus.parent / "out"
        assert {path.name for path in out.iterdir()} == {"labels.jsonl", "gateway.jsonl", "figures.json", "report.md"}
        figures = json.loads((out / "figures.json").read_text())
        assert figures["tables"]["gateway"]["all"]["page_score"] == 1.0
        assert figures["floors"][0]["holds"] is True

    def test_a_gateway_that_loses_lines_fails(self, small_corpus, gateway):
        url, lines_by_body = gateway
        answers = perfect_answers(small_corpus)
        lines_by_body.update({body: lines[:2] for body, lines in answers.items()})
        assert self.run(small_corpus, url) == 1

    def test_a_page_without_an_answer_fails(self, small_corpus, gateway, capsys):
        url, lines_by_body = gateway
        lines_by_body.update({**perfect_answers(small_corpus), b"images/b_1.png": None})
        assert self.run(small_corpus, url) == 1
        assert "| gateway | images/b_1.png | 503: " in capsys.readouterr().out

    def test_an_absent_gateway_is_no_comparison(self, small_corpus):
        assert self.run(small_corpus, "http://127.0.0.1:9") == 2
