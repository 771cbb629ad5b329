"""Memory of the whole service, and a card that was full already: what is seen and said is put down as it was."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from google.protobuf import text_format
from PIL import Image
from tritonclient.grpc.model_config_pb2 import ModelConfig

from loadtest.gpu import whole_memory
from loadtest.gpu.full_card import ask, failures, messages, seconds_until
from loadtest.gpu.sampling import GpuSample, loopback_bytes, resident_mib
from loadtest.gpu.stand import Gateways
from loadtest.gpu.variants import further_rows
from loadtest.gpu.whole_memory import Watch, scaled_pages

LOG = """\
I1130 server.cc:1] successfully loaded 'text_detection_a'
E1130 model_lifecycle.cc:1] failed to load 'text_recognition_a' version 1: Internal: Conf: GPU 0 was asked for
E1130 model_lifecycle.cc:1] failed to load 'text_recognition_b' version 1: Internal: Conf: GPU 0 was asked for
E1130 model_lifecycle.cc:1] failed to load 'text_recognition_c' version 1: "Internal: CUBLAS failure 3\\n\\nAt:\\n"
"""


@dataclass
class FakeServer:
    pid: int = 1


@dataclass
class FakeGpu:
    samples: list[GpuSample] = field(default_factory=list)


@dataclass
class FakeService:
    server: FakeServer = field(default_factory=FakeServer)
    gpu: FakeGpu = field(default_factory=FakeGpu)


def size_of(path):
    with Image.open(path) as image:
        return image.size


def test_texts_of_models_that_did_not_load_are_counted():
    assert failures("") == {"models": 0, "texts": {}}
    assert failures(LOG) == {
        "models": 3,
        "texts": {"Internal: Conf: GPU 0 was asked for": 2, "Internal: CUBLAS failure 3": 1},
    }


def test_a_gateways_messages_are_told_once():
    lines = [json.dumps({"message": text}) for text in ("a", "b", "a")]
    assert messages("\n".join(["no JSON", *lines])) == ["a", "b"]


@pytest.mark.parametrize(("path", "status"), [("/good", 200), ("/bad", 503)])
def test_an_answer_is_told_whatever_its_status(path, status):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = json.dumps({"bytes": len(body)}).encode()
            self.send_response(200 if self.path == "/good" else 503)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert ask(server.server_port, path, b"xyz") == {"status": status, "content": {"bytes": 3}}
        thread.join()


def test_a_wait_has_an_end():
    assert seconds_until(lambda: True) == 0.0
    assert 0.1 <= seconds_until(lambda: False, most_s=0.1) < 5.0


def test_memory_of_processes_adds_up_and_of_those_gone_there_is_none(tmp_path):
    for process in ("7", "8"):
        (tmp_path / process).mkdir()
        (tmp_path / process / "statm").write_text("9000 512 3 0 0 0 0\n")
    assert resident_mib([7, 8, 9], tmp_path) == pytest.approx(4.0, rel=0.01)  # with pages of 4 KiB


def test_bytes_on_the_loopback_interface_are_those_of_its_row(tmp_path):
    devices = tmp_path / "dev"
    devices.write_text("Inter-| Receive\n face |bytes packets\n    lo: 1234 5 0 0\n  eth0: 99 1 0 0\n")
    assert loopback_bytes(devices) == 1234


def test_memory_is_looked_at_before_the_first_page_and_after_the_last(monkeypatch):
    read = iter((100, 100, 107))
    monkeypatch.setattr(whole_memory, "pages_read", lambda _: next(read))
    monkeypatch.setattr(whole_memory, "INTERVAL_S", 60.0)
    service = FakeService(gpu=FakeGpu([GpuSample(0.0, 1.0, 2048.0, 3.0)]))
    watch = Watch(service, Gateways((), ()))
    with watch.running():
        assert [sample.pages for sample in watch.samples] == [0]
    assert [sample.pages for sample in watch.samples] == [0, 7]
    assert watch.samples[-1].gpu_mib == 2048.0


def test_pages_come_in_several_sizes_the_same_every_time(tmp_path):
    page = tmp_path / "page.png"
    Image.new("RGBA", (100, 50)).save(page)
    first = scaled_pages([page, page], tmp_path / "a", copies=3)
    second = scaled_pages([page], tmp_path / "b", copies=3)
    assert [path.name for path in first] == [path.name for path in second]
    sizes = [size_of(path) for path in first]
    assert len(set(sizes)) == 3
    assert all(60 <= width <= 120 for width, _ in sizes)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_model_for_further_rows_is_the_same_model(tmp_path):
    folder = tmp_path / "lines_w160_r32"
    (folder / "1").mkdir(parents=True)
    (folder / "1" / "model.onnx").write_bytes(b"model")
    config = ModelConfig(name=folder.name, max_batch_size=32)
    config.parameters["rows"].string_value = "32"
    config.model_warmup.add(name="sample", batch_size=32)
    (folder / "config.pbtxt").write_text(text_format.MessageToString(config))
    further_rows(tmp_path, "lines_w160_r32", 64)
    copy = text_format.Parse((tmp_path / "lines_w160_r64" / "config.pbtxt").read_text(), ModelConfig())
    assert (copy.name, copy.max_batch_size, copy.parameters["rows"].string_value) == ("lines_w160_r64", 64, "64")
    assert copy.model_warmup[0].batch_size == 64
    assert (tmp_path / "lines_w160_r64/1/model.onnx").samefile(folder / "1/model.onnx")
