"""The two sides of the comparison: the gateway over HTTP, and the library in its process."""

import subprocess
import sys
from pathlib import Path

import cv2
import httpx
import numpy as np
import pytest
from accuracy_examples import ANSWER, QUAD

from loadtest.accuracy import comparison, rapidocr_reader
from loadtest.accuracy.circumstances import ROOT, processor_name
from loadtest.accuracy.errors import AccuracyError
from loadtest.accuracy.gateway_reader import GatewayReader
from loadtest.accuracy.local_gateway import wait_ready
from loadtest.accuracy.readings import Line, Reading
from loadtest.processes import stop


def gateway_answering(handler):
    return GatewayReader(httpx.Client(transport=httpx.MockTransport(handler), base_url="http://gateway"))


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "image.png"
    path.write_bytes(b"the image")
    return path


class TestGatewayReader:
    def test_the_file_is_the_body(self, image):
        requests = []

        def answer(request):
            requests.append((request.method, request.url.path, request.content))
            return httpx.Response(200, json=ANSWER)

        gateway_answering(answer).read(image)
        assert requests == [("POST", "/v1/ocr", b"the image")]

    def test_the_lines_of_the_page_are_read(self, image):
        reading = gateway_answering(lambda _: httpx.Response(200, json=ANSWER)).read(image)
        assert reading.lines == (Line(quad=QUAD, text="abc", score=0.9),)
        assert reading.error is None

    def test_a_refused_page_is_an_empty_reading_with_the_reason(self, image):
        reading = gateway_answering(lambda _: httpx.Response(503, text="inference_timeout")).read(image)
        assert (reading.lines, reading.error) == ((), "503: inference_timeout")

    @pytest.mark.parametrize("answer", [b"", b"[]", b'{"model_set": "x", "pages": []}'])
    def test_an_answer_of_another_form_is_an_error_of_the_page(self, image, answer):
        reading = gateway_answering(lambda _: httpx.Response(200, content=answer)).read(image)
        assert "validation error" in reading.error

    def test_a_silent_gateway_is_an_error_of_the_page(self, image):
        def time_out(request):
            raise httpx.ReadTimeout("too late", request=request)

        assert gateway_answering(time_out).read(image).error == "ReadTimeout: too late"

    def test_an_absent_gateway_ends_the_comparison(self, image):
        def refuse(request):
            raise httpx.ConnectError("refused", request=request)

        with pytest.raises(AccuracyError, match="no gateway listens at http://gateway"):
            gateway_answering(refuse).read(image)

    def test_the_model_set_is_what_the_gateway_says(self, image):
        assert gateway_answering(lambda _: httpx.Response(200, json=ANSWER)).model_set(image) == "ppocrv6-small"

    def test_a_gateway_that_cannot_read_ends_the_comparison_before_it_starts(self, image):
        with pytest.raises(AccuracyError, match=r"does not read image\.png: 500: broken"):
            gateway_answering(lambda _: httpx.Response(500, text="broken")).model_set(image)


FAKE_WORKER = """
import json, sys
print(json.dumps({"versions": {"rapidocr": "3"}, "weights": {"det.onnx": "ab"}}), flush=True)
for request in sys.stdin:
    path = json.loads(request)["path"]
    if path == "fatal":
        sys.exit(3)
    line = {"quad": [[0, 0], [80, 0], [80, 10], [0, 10]], "text": path, "score": 0.5}
    print(json.dumps({"seconds": 0.25, "lines": [line]}), flush=True)
"""


@pytest.fixture
def fake_worker(tmp_path):
    path = tmp_path / "worker.py"
    path.write_text(FAKE_WORKER)
    return path


class TestRapidocrReader:
    def test_it_gives_the_lines_and_the_time_of_its_process(self, fake_worker):
        with rapidocr_reader.RapidocrReader(Path(sys.executable), fake_worker) as reader:
            assert reader.description.weights == {"det.onnx": "ab"}
            first, second = reader.read(Path("one")), reader.read(Path("two"))
        assert first == Reading(seconds=0.25, lines=(Line(quad=QUAD, text="one", score=0.5),))
        assert second.lines[0].text == "two"

    def test_a_process_that_ends_is_said_so(self, fake_worker):
        with (
            rapidocr_reader.RapidocrReader(Path(sys.executable), fake_worker) as reader,
            pytest.raises(AccuracyError, match="rapidocr's process ended"),
        ):
            reader.read(Path("fatal"))

    def test_a_process_that_ended_earlier_is_said_so(self, fake_worker):
        with rapidocr_reader.RapidocrReader(Path(sys.executable), fake_worker) as reader:
            for _ in range(2):
                with pytest.raises(AccuracyError, match="rapidocr's process ended"):
                    reader.read(Path("fatal"))

    def test_a_process_that_does_not_start_is_said_so(self, tmp_path):
        reader = rapidocr_reader.RapidocrReader(Path(sys.executable), tmp_path / "absent.py")
        with pytest.raises(AccuracyError, match="rapidocr's process ended"):
            reader.__enter__()

    def test_an_environment_made_from_the_same_lock_file_is_used_again(self, tmp_path):
        lock = tmp_path / "peers.txt"
        lock.write_bytes(b"abc")
        folder = tmp_path / "peers"
        folder.mkdir()
        (folder / "lock.sha256").write_text("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        said = []
        assert rapidocr_reader.prepare_environment(folder, lock, said.append) == folder / "bin" / "python"
        assert said == []


@pytest.fixture(scope="module")
def library():
    folder = ROOT / ".local" / "peers"
    if not (folder / "lock.sha256").is_file():
        pytest.skip("rapidocr is not installed here; `make accuracy` does it")
    with rapidocr_reader.RapidocrReader(folder / "bin" / "python") as reader:
        yield reader


class TestRealLibrary:
    def test_it_reads_a_picture(self, library, tmp_path):
        picture = np.full((120, 400, 3), 255, np.uint8)
        cv2.putText(picture, "Gateway", (30, 75), cv2.FONT_HERSHEY_SIMPLEX, 2, (0, 0, 0), 3, cv2.LINE_AA)
        cv2.imwrite(str(tmp_path / "picture.png"), picture)
        assert [line.text for line in library.read(tmp_path / "picture.png").lines] == ["Gateway"]

    def test_it_reads_with_the_weights_that_the_gateway_serves(self, library):
        comparison.require_same_weights("ppocrv6-small", library.description.weights)

    def test_its_packages_are_the_gateways_where_both_have_them(self, library):
        locked = (ROOT / "requirements" / "gateway.txt").read_text(encoding="utf-8")
        versions = library.description.versions
        assert versions["rapidocr"] == "3.10.0"
        assert f"onnxruntime=={versions['onnxruntime']} " in locked


class TestWeights:
    def test_other_weights_are_refused(self):
        with pytest.raises(AccuracyError, match=r"serves ppocrv6-tiny, but rapidocr reads with det\.onnx"):
            comparison.require_same_weights("ppocrv6-tiny", {"det.onnx": "ab"})

    def test_a_set_that_is_not_in_the_catalog_is_refused(self):
        with pytest.raises(AccuracyError, match="serves someone's"):
            comparison.require_same_weights("someone's", {"det.onnx": "ab"})


class TestCircumstances:
    @pytest.mark.parametrize(
        ("cpuinfo", "name"),
        [("", "processor unknown"), ("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n", "Some CPU @ 2 GHz")],
    )
    def test_the_processor_is_named_as_linux_does(self, tmp_path, cpuinfo, name):
        (tmp_path / "cpuinfo").write_text(cpuinfo)
        assert processor_name(tmp_path / "cpuinfo") == name


def start_python(code):
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)


class TestLocalGateway:
    def test_a_gateway_that_ends_at_its_start_is_said_so(self, tmp_path):
        with start_python("raise SystemExit(3)") as process:
            process.wait()
            with pytest.raises(AccuracyError, match=r"ended with exit code 3: see .*gateway\.log"):
                wait_ready(process, "http://127.0.0.1:9", tmp_path / "gateway.log")

    def test_it_is_given_time_to_stop_what_it_started(self):
        code = (
            "import signal, time\n"
            "signal.signal(signal.SIGTERM, signal.default_int_handler)\n"
            "try:\n    print(flush=True); time.sleep(60)\n"
            "except KeyboardInterrupt:\n    raise SystemExit(7)"
        )
        with start_python(code) as process:
            process.stdout.readline()
            stop(process)
        assert process.returncode == 7
