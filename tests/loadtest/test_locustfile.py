"""The users of Locust on a made-up service; skipped where Locust's own environment is missing: `make capacity`."""

import json
import subprocess
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from loadtest.accuracy.circumstances import ROOT
from loadtest.capacity.campaign import FILES, LOCUST
from loadtest.capacity.samples import Recording

pytestmark = pytest.mark.skipif(not LOCUST.exists(), reason="Locust is not installed: make capacity")
ANSWER_S = 1.0
STREAM = [
    {"event": "start", "total": 1},
    {"event": "page", "page": {}},
    {"event": "end", "pages": 1, "errors": 0, "stages_ms": {"decode": 7.0}},
]


class Service(BaseHTTPRequestHandler):
    """Answers after a second: pages, documents, and a refusal or half an answer to whoever asks for it."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        refuse, stream = "refuse" in self.path, "ndjson" in self.headers["Accept"]
        time.sleep(0.0 if refuse else ANSWER_S)
        self.send_response(503 if refuse else 200)
        if not stream and not refuse:
            self.send_header("Server-Timing", "decode;dur=3.0, detect;dur=12.0")
        self.end_headers()
        if "leave" in self.path:
            self.wfile.write(json.dumps(STREAM[0]).encode() + b"\n")
        elif refuse:
            self.wfile.write(b'{"code": "overloaded"}')
        else:
            self.wfile.write(b"".join(json.dumps(line).encode() + b"\n" for line in STREAM) if stream else b"{}")

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


@pytest.fixture
def host():
    with Server(("127.0.0.1", 0), Service) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def locust(host, tmp_path):
    def run(*options, files="loadtest/locustfile.py"):
        """Recording, rows of the table by type and name, and what was said."""
        samples, table = tmp_path / "samples.jsonl", tmp_path / "table"
        own = ["--host", host, "--headless", "--samples", samples, "--json-file", table, "--exit-code-on-error", "0"]
        command = [LOCUST, "-f", files, *own, *options]
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=100)
        rows = json.loads(table.with_suffix(".json").read_text())
        return Recording.read(samples), {(row["method"], row["name"]): row for row in rows}, done.stderr

    return run


def test_requests_are_sent_at_their_rate_however_slow_the_answers_are(locust, tmp_path):
    recording, rows, _ = locust("--users", "1", "--rate", "20", "--run-time", "3s", "--corpus", tmp_path, "DrawnPage")
    first_ended_at = min(sample.ended_at for sample in recording.samples)
    assert sum(sample.due_at < first_ended_at for sample in recording.samples) > 5  # 20 a second on average
    assert all(sample.seconds >= ANSWER_S and sample.status == 200 for sample in recording.samples)
    assert rows["page", "reference"]["num_requests"] == len(recording.samples)
    assert rows["stage", "reference: detect"]["total_response_time"] == 12 * len(recording.samples)


def test_a_document_is_read_as_a_stream(locust, tmp_path):
    recording, rows, _ = locust("--users", "1", "--rate", "3", "--run-time", "3s", "--corpus", tmp_path, "Documents")
    assert {sample.mix for sample in recording.samples} == {"documents"}
    assert recording.samples[0].stages_ms["decode"] == 7.0
    assert {name for _, name in rows} == {"documents", "documents: first page", "documents: decode"}


def test_files_of_ones_own_are_all_that_is_sent(locust, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "page.png").write_bytes(b"page")
    recording, _, _ = locust("--users", "2", "--rate", "2", "--run-time", "3s", "--images", tmp_path / "own")
    assert {sample.mix for sample in recording.samples} == {"own"}


def test_a_refusal_is_a_failure_named_by_its_code(locust, tmp_path):
    options = ("--users", "1", "--rate", "10", "--run-time", "2s", "--query", "refuse=1", "--corpus", tmp_path)
    recording, rows, _ = locust(*options, "DrawnPage")
    assert {(sample.status, sample.code) for sample in recording.samples} == {(503, "overloaded")}
    assert rows["page", "reference"]["num_failures"] == len(recording.samples)
    assert {kind for kind, _ in rows} == {"page"}


def test_a_stream_that_breaks_off_is_a_failure(locust, tmp_path):
    options = ("--users", "1", "--rate", "5", "--run-time", "2s", "--query", "leave=1", "--corpus", tmp_path)
    recording, rows, _ = locust(*options, "Documents")
    assert {(sample.status, sample.code) for sample in recording.samples} == {(200, "broken off")}
    assert rows["document", "documents"]["num_failures"] == len(recording.samples)


def test_several_processes_send_together(host, tmp_path):
    table = tmp_path / "table"
    command = [LOCUST, "-f", "loadtest/locustfile.py", "--host", host, "--headless", "--json-file", table]
    options = ["--processes", "2", "--users", "2", "--spawn-rate", "2", "--rate", "5", "--run-time", "4s"]
    corpus = ["--corpus", tmp_path, "DrawnPage"]
    subprocess.run([*command, *options, *corpus], cwd=ROOT, check=True, capture_output=True, timeout=100)
    rows = json.loads(table.with_suffix(".json").read_text())
    pages, stages = (
        sum(row["num_requests"] for row in rows if row["name"] == name) for name in ("reference", "reference: detect")
    )
    assert pages == stages > 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--samples", "samples.jsonl", "--processes", "2"], "--samples writes the requests of one process"),
        (["--images", "none"], "none is no folder with files"),
        (["OwnFiles"], "nothing to send for OwnFiles: there are files for"),
    ],
)
def test_what_can_not_be_done_is_said(host, options, told):
    command = [LOCUST, "-f", "loadtest/locustfile.py", "--host", host, "--headless", *options]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=100)
    assert done.returncode != 0
    assert f"locustfile: {told}" in done.stderr


def test_steps_are_taken_one_by_one_and_judged(locust, tmp_path):
    options = (
        "--rate",
        "1",
        "--first-users",
        "5",
        "--growth",
        "2",
        "--step-seconds",
        "2",
        "--step-requests",
        "1",
        "--steps",
        "2",
    )
    recording, _, told = locust(*options, "--corpus", tmp_path, "DrawnPage", files=FILES)
    assert [step.rate for step in recording.steps] == [5.0, 10.0]
    begun = recording.steps[1].began_at
    assert all(sample.ended_at <= begun for sample in recording.of_step(recording.steps[0]))
    assert "P95 is above 200 ms at the first step already" in told
