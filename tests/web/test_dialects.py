"""Clients of the dialects at /ocr, as they ask, and what they get: golden answers; no client touches another's."""

import asyncio
from base64 import b64decode, b64encode
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from web_fakes import IMAGE, LINE, PAGE, PICTURE, QUAD, FakePipeline, app_with, client_of

from gateway.errors import BackendUnavailable, UnreadableImage
from gateway.ocr.elements import Page, Space, TextLine, TextRegion, Word
from gateway.ocr.options import DetectionOptions, PageOptions, RecognitionOptions
from gateway.web.dialects.dialect import option_names
from gateway.web.dialects.hub_serving import HubChoices
from gateway.web.dialects.liteparse import LiteParseChoices
from gateway.web.dialects.nim import NimChoices
from gateway.web.dialects.paddlex import PaddleChoices
from gateway.web.dialects.rapidocr import RapidChoices
from gateway.web.dialects.umi import UmiChoices

DATA = b"\x89PNG and so on"
BASE64 = b64encode(DATA).decode()
WORDS = (
    Word("hello,", np.array([[10, 20], [50, 20], [50, 44], [10, 44]], np.float32), 0.9),
    Word("wörld", np.array([[60, 20], [110.3, 20], [110, 44], [60, 44]], np.float32), 0.9, Space.READ),
)
PADDLE_PAGE = {
    "prunedResult": {
        "model_settings": {"use_doc_preprocessor": False, "use_textline_orientation": True},
        "dt_polys": [[[10, 20], [110, 20], [110, 44], [10, 44]]],
        "text_det_params": {
            "limit_side_len": 736,
            "limit_type": "min",
            "thresh": 0.3,
            "box_thresh": 0.45,
            "unclip_ratio": 1.2,
        },
        "text_type": "general",
        "textline_orientation_angles": [1],
        "text_rec_score_thresh": 0.5,
        "return_word_box": False,
        "rec_texts": ["hello, wörld"],
        "rec_scores": [0.9877],
        "rec_polys": [[[10, 20], [110, 20], [110, 44], [10, 44]]],
        "rec_boxes": [[10, 20, 110, 44]],
    }
}


async def post(pipeline=None, *, choices=None, **request):
    async with client_of(app_with(pipeline, **(choices or {}))) as client:
        return await client.post("/ocr", **request)


async def paddle(pipeline=None, **members):
    return await post(pipeline, json={"file": BASE64, **members}, headers={"x-request-id": "r1"})


async def rapid(pipeline=None, data=None, **files):
    return await post(pipeline, files=files or {"image_file": ("a.png", DATA)}, data=data or {})


class TestPaddleX:
    async def test_the_documented_call_gets_the_documented_answer(self):
        # As PaddleX documents it for Python: requests.post(url, json={"file": ..., "fileType": 1})
        plain = replace(PAGE, image=None)
        answer = await paddle(FakePipeline(plain), fileType=1)
        assert answer.status_code == 200
        assert answer.json() == {
            "logId": "r1",
            "errorCode": 0,
            "errorMsg": "Success",
            "result": {
                "ocrResults": [PADDLE_PAGE],
                "dataInfo": {"width": 200, "height": 100, "type": "image"},
            },
        }

    async def test_the_file_is_read_with_the_pipelines_own_defaults(self):
        pipeline = FakePipeline()
        await paddle(pipeline)
        assert pipeline.data == DATA
        assert pipeline.options == PageOptions()

    async def test_every_option_is_alive(self):
        pipeline = FakePipeline()
        answer = await paddle(
            pipeline,
            useTextlineOrientation=False,
            useDocUnwarping=False,
            textDetLimitSideLen=960,
            textDetLimitType="max",
            textDetThresh=0.2,
            textDetBoxThresh=0.6,
            textDetUnclipRatio=1.5,
            textRecScoreThresh=0.1,
            returnWordBox=True,
            visualize=True,
            logId="mine",
        )
        assert pipeline.options == PageOptions(
            detection=DetectionOptions(
                limit_side=960, min_side=0, binarize_threshold=0.2, box_threshold=0.6, unclip_ratio=1.5
            ),
            recognition=RecognitionOptions(reread=False, min_score=0.1),
            level="word",
            keep_image=True,
        )
        assert answer.json()["logId"] == "mine"
        assert answer.json()["result"]["ocrResults"][0]["prunedResult"]["text_det_params"] == {
            "limit_side_len": 960,
            "limit_type": "max",
            "thresh": 0.2,
            "box_thresh": 0.6,
            "unclip_ratio": 1.5,
        }

    async def test_a_limit_without_a_type_is_the_least_of_the_shorter_side(self):
        pipeline = FakePipeline()
        await paddle(pipeline, textDetLimitSideLen=100)
        assert pipeline.options.detection == DetectionOptions(min_side=100)

    async def test_words_come_with_their_boxes_and_spaces_are_words_too(self):
        page = replace(PAGE, lines=(replace(LINE, words=WORDS),))
        answer = await paddle(FakePipeline(page), returnWordBox=True)
        pruned = answer.json()["result"]["ocrResults"][0]["prunedResult"]
        assert pruned["text_word"] == [["hello,", " ", "wörld"]]
        assert pruned["text_word_boxes"] == [[[10, 20, 50, 44], [50, 20, 60, 44], [60, 20, 110, 44]]]

    async def test_the_picture_is_a_jpeg_and_only_there_if_asked_for(self):
        picture = (await paddle(visualize=True)).json()["result"]["ocrResults"][0]["ocrImage"]
        pixels = cv2.imdecode(np.frombuffer(b64decode(picture), np.uint8), cv2.IMREAD_COLOR)
        assert pixels.shape == IMAGE.shape
        without = (await paddle(FakePipeline(replace(PAGE, image=None)), visualize=False)).json()
        assert "ocrImage" not in without["result"]["ocrResults"][0]

    async def test_every_page_of_a_pdf_is_a_result(self):
        page = replace(PAGE, picture=replace(PICTURE, file_type="PDF"))
        result = (await paddle(FakePipeline(page, pages=2), fileType=0)).json()["result"]
        assert len(result["ocrResults"]) == 2
        sizes = [{"width": 200, "height": 100}] * 2
        assert result["dataInfo"] == {"numPages": 2, "pages": sizes, "type": "pdf"}

    async def test_a_picture_without_text_is_a_success_with_empty_lists(self):
        answer = await paddle(FakePipeline(Page(PICTURE, 30, 20)))
        pruned = answer.json()["result"]["ocrResults"][0]["prunedResult"]
        assert (pruned["rec_texts"], pruned["dt_polys"], pruned["rec_boxes"]) == ([], [], [])

    @pytest.mark.parametrize(
        ("members", "said"),
        [
            ({"file": "http://example.org/a.png"}, "addresses are not fetched here"),
            ({"file": "%%%"}, "not base64"),
            ({"useDocUnwarping": True}, "pages are not unwarped here"),
            ({"textDetThresh": 7}, "textDetThresh: Input should be less than 1"),
            ({"textDetThres": 0.5}, "unknown option 'textDetThres' in the JSON body; did you mean 'textDetThresh'?"),
            ({"textDetLimitSideLen": 10, "textDetLimitType": "max"}, "with max, at least 64"),
            ({"fileType": 2}, "fileType: "),
        ],
    )
    async def test_what_can_not_be_done_is_a_422_in_its_own_words(self, members, said):
        answer = await paddle(**members)
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/json"
        assert list(answer.json()) == ["logId", "errorCode", "errorMsg"]
        assert (answer.json()["logId"], answer.json()["errorCode"]) == ("r1", 422)
        assert said in answer.json()["errorMsg"]

    @pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"not JSON", b'{"file": "YQ==", "file": "YQ=="}'])
    async def test_a_body_that_is_no_request_is_a_422(self, body):
        answer = await post(content=body, headers={"content-type": "application/json"})
        assert (answer.status_code, answer.json()["errorCode"]) == (422, 422)

    async def test_failures_repeat_their_status(self):
        answer = await paddle(FakePipeline(BackendUnavailable("no models")))
        assert (answer.status_code, answer.json()["errorCode"]) == (503, 503)
        assert answer.json()["errorMsg"] == "no models"
        assert "retry-after" in answer.headers


class TestRapidOcr:
    async def test_the_documented_call_gets_the_documented_answer(self):
        # As rapidocr_api documents it: requests.post(url, files={"image_file": ...}, data={"use_det": None, ...})
        answer = await rapid()
        assert answer.status_code == 200
        assert answer.json() == {
            "0": {
                "rec_txt": "hello, wörld",
                "dt_boxes": [[10.0, 20.0], [110.3, 20.0], [110.0, 44.0], [10.0, 44.0]],
                "score": 0.9877,
            }
        }

    async def test_base64_may_stand_in_for_the_file_and_the_file_wins(self):
        pipeline = FakePipeline()
        await rapid(pipeline, image_data=(None, b64encode(b"other" * 1000)))
        assert pipeline.data == b"other" * 1000
        await rapid(pipeline, image_data=(None, b64encode(b"other")), image_file=("a.png", DATA))
        assert pipeline.data == DATA

    async def test_base64_may_come_as_a_form_without_files(self):
        # As it documents it: requests.post(url, data={"image_data": ...})
        pipeline, data = FakePipeline(), b"\xfb\xff" * 1000
        answer = await post(pipeline, data={"image_data": b64encode(data).decode(), "use_cls": "false"})
        assert (answer.status_code, pipeline.data) == (200, data)
        assert pipeline.options == PageOptions(recognition=RecognitionOptions(reread=False))

    @pytest.mark.parametrize(
        ("form", "said"),
        [
            ({"image": "aGk="}, "a form without files must have one field 'image_data', not 0"),
            ({"image_data": ["aGk=", "aGk="]}, "a form without files must have one field 'image_data', not 2"),
            ({"image_data": "%%%"}, "image_data is not base64"),
            ({"image_data": "aGk=", "use_dett": "true"}, "did you mean 'use_det'?"),
            ({str(number): "" for number in range(40)}, "the body is not a form"),
        ],
    )
    async def test_what_such_a_form_can_not_say_is_named(self, form, said):
        answer = await post(data=form)
        assert answer.status_code == 400
        assert said in answer.json()["detail"]

    async def test_every_switch_is_alive(self):
        pipeline = FakePipeline()
        await rapid(
            pipeline,
            {"use_det": "false", "use_cls": "false", "text_score": "0.1", "box_thresh": "0.6", "unclip_ratio": "1.5"},
        )
        assert pipeline.options == PageOptions(
            detect=False,
            detection=DetectionOptions(box_threshold=0.6, unclip_ratio=1.5),
            recognition=RecognitionOptions(reread=False, min_score=0.1),
        )

    async def test_without_recognition_places_have_their_own_score(self):
        page = replace(PAGE, lines=(TextLine(TextRegion(QUAD, QUAD, 0.75)),))
        answer = await rapid(FakePipeline(page), {"use_rec": "false"})
        assert (answer.json()["0"]["rec_txt"], answer.json()["0"]["score"]) == ("", 0.75)

    async def test_no_text_is_an_empty_object(self):
        answer = await rapid(FakePipeline(Page(PICTURE, 30, 20)))
        assert (answer.status_code, answer.json()) == (200, {})

    @pytest.mark.parametrize(
        ("request_", "said"),
        [
            ({"data": {"use_det": "false", "use_rec": "false"}}, "can't both be false"),
            ({"data": {"use_dett": "true"}}, "unknown option 'use_dett' in the form; did you mean 'use_det'?"),
            ({"data": {"use_cls": "perhaps"}}, "use_cls: "),
            ({"picture": ("a.png", DATA)}, "must be named 'image_file'"),
            ({"image_data": (None, "%%%")}, "not base64"),
        ],
    )
    async def test_what_can_not_be_done_is_told_as_fastapi_would(self, request_, said):
        answer = await rapid(**request_)
        assert answer.status_code == 400
        assert said in answer.json()["detail"]

    async def test_failures_keep_their_status(self):
        answer = await rapid(FakePipeline(UnreadableImage("broken")))
        assert (answer.status_code, answer.json()["detail"]) == (422, "broken")


class TestLiteParse:
    async def test_the_documented_call_gets_the_documented_answer(self):
        pipeline = FakePipeline()
        answer = await rapid(pipeline, {"language": "en"}, file=("page.png", DATA))
        assert (answer.status_code, pipeline.data, pipeline.options) == (200, DATA, PageOptions())
        assert answer.json() == {
            "results": [
                {
                    "text": "hello, wörld",
                    "bbox": [10.0, 20.0, 110.3, 44.0],
                    "confidence": 0.9877,
                    "polygon": [[10.0, 20.0], [110.3, 20.0], [110.0, 44.0], [10.0, 44.0]],
                }
            ]
        }

    async def test_no_text_is_an_empty_list(self):
        assert (await rapid(FakePipeline(Page(PICTURE, 30, 20)), file=("a.png", DATA))).json() == {"results": []}

    async def test_failures_say_an_error_and_keep_their_status(self):
        answer = await rapid(FakePipeline(UnreadableImage("broken")), file=("a.png", DATA))
        assert (answer.status_code, answer.json()["error"]) == (422, "broken")

    async def test_what_is_unknown_is_refused(self):
        answer = await rapid(data={"lang": "en"}, file=("a.png", DATA))
        assert answer.status_code == 400
        assert answer.json()["error"] == "unknown option 'lang' in the form; did you mean 'language'?"


@pytest.mark.parametrize("model", [PaddleChoices, RapidChoices, LiteParseChoices, HubChoices, UmiChoices, NimChoices])
def test_every_choice_is_described(model):
    document = (Path(__file__).parents[2] / "docs" / "dialects.md").read_text()
    assert [name for name in option_names(model) if f"`{name}`" not in document] == []


@pytest.mark.parametrize("second", ["image_file", "file"])
async def test_two_files_of_which_one_would_be_ignored_are_refused(second):
    files = [("file", ("a.png", DATA)), (second, ("b.png", DATA))]
    answer = await post(files=files)
    assert answer.status_code == 400
    assert "must have one file" in answer.json()["error"]


CLIENTS = 32
KINDS = 6


def request_of(number):
    """The call of a client: each has its own picture, and of its dialect's options its own."""
    data, turns = f"image {number}".encode(), number // KINDS % 2 == 0
    text = b64encode(data).decode()
    as_json = [
        ("/ocr", {"file": text, "useTextlineOrientation": turns, "textRecScoreThresh": number / 100}),
        ("/api/ocr", {"base64": text, "options": {"ocr.cls": turns, "ocr.limit_side_len": 960 if turns else 2880}}),
        ("/predict/ocr_system", {"images": [text]}),
        (
            "/v1/infer",
            {"input": [{"type": "image_url", "url": text}], "merge_levels": [("sentence", "word")[turns]]},
        ),
    ]
    kind = number % KINDS
    if kind < len(as_json):
        return {"url": as_json[kind][0], "json": as_json[kind][1]}
    if kind == 4:
        form = {"use_cls": str(turns), "text_score": str(number / 100)}
        return {"url": "/ocr", "files": {"image_file": ("a", data)}, "data": form}
    return {"url": "/v1/ocr", "content": data, "params": {"reread": turns, "min_score": number / 100}}


def options_wanted(number):
    """The options with which the pipeline must read the picture of a client."""
    turns, score = number // KINDS % 2 == 0, number / 100
    plain = PageOptions()
    return [
        replace(plain, recognition=RecognitionOptions(reread=turns, min_score=score)),
        replace(
            plain,
            recognition=RecognitionOptions(reread=turns),
            detection=DetectionOptions(limit_side=960 if turns else 2880),
        ),
        plain,
        replace(plain, level="word" if turns else "line"),
        replace(plain, recognition=RecognitionOptions(reread=turns, min_score=score)),
        replace(plain, recognition=RecognitionOptions(reread=turns, min_score=score)),
    ][number % KINDS]


async def options_used(pipeline):
    """With which options the pictures of many clients, who all ask at once, were read."""
    async with client_of(app_with(pipeline)) as client:
        answers = await asyncio.gather(*(client.post(**request_of(number)) for number in range(CLIENTS)))
    assert {answer.status_code for answer in answers} == {200}
    used = {data: options for data, options, _ in pipeline.calls}
    return [used[f"image {number}".encode()] for number in range(CLIENTS)]


async def test_one_clients_switches_never_touch_anothers():
    assert await options_used(FakePipeline()) == [options_wanted(number) for number in range(CLIENTS)]


class LeakyPipeline(FakePipeline):
    """Keeps a switch of one client for the next ones, as rapidocr_api does with its shared object."""

    kept = True

    async def read(self, file, number, options, *, deadline, times):
        self.kept = self.kept and options.recognition.reread
        leaked = replace(options, recognition=replace(options.recognition, reread=self.kept))
        return await super().read(file, number, leaked, deadline=deadline, times=times)


async def test_a_switch_that_stays_would_be_noticed():
    assert await options_used(LeakyPipeline()) != [options_wanted(number) for number in range(CLIENTS)]


async def test_problems_elsewhere_stay_problem_documents():
    async with client_of(app_with()) as client:
        answer = await client.get("/nowhere")
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_get_is_told_in_the_dialect_too():
    async with client_of(app_with()) as client:
        answer = await client.get("/ocr")
    assert (answer.status_code, answer.json()["errorCode"]) == (405, 405)
