"""Clients of the dialects that have an address of their own, as they ask, and what they get: golden answers."""

from base64 import b64encode
from dataclasses import replace

import numpy as np
import pytest
from web_fakes import LINE, PAGE, PICTURE, FakePipeline, app_with, client_of

from gateway.errors import BackendUnavailable, UnreadableImage
from gateway.ocr.elements import Page, Paragraph, Space, Transcription, Word
from gateway.ocr.options import DetectionOptions, PageOptions, RecognitionOptions

DATA, OTHER = b"\x89PNG and so on", b"\xff\xd8 another one"
BASE64, OTHER64 = b64encode(DATA).decode(), b64encode(OTHER).decode()
EMPTY = Page(PICTURE, 30, 20)
CORNERS = [[10, 20], [110, 20], [110, 44], [10, 44]]
CHINESE = replace(LINE, transcription=Transcription("你好", 0.9))
TWO_PARAGRAPHS = replace(
    PAGE,
    lines=(LINE, CHINESE, CHINESE),
    paragraphs=(Paragraph((0, 1), LINE.region.quad), Paragraph((2,), CHINESE.region.quad)),
)
WORD = Word("wörld", np.array([[60, 20], [110, 20], [110, 44], [60, 44]], np.float32), 0.9, Space.READ)


async def post(path, pipeline=None, **request):
    async with client_of(app_with(pipeline)) as client:
        return await client.post(path, **request)


async def hub(pipeline=None, **members):
    # As PaddleOCR's tools/test_hubserving.py asks: json.dumps with this header.
    return await post("/predict/ocr_system", pipeline, json=members, headers={"Content-type": "application/json"})


async def umi(pipeline=None, *, base64=BASE64, **members):
    return await post("/api/ocr", pipeline, json={"base64": base64, **members})


async def nim(pipeline=None, *, urls=(f"data:image/png;base64,{BASE64}",), **members):
    images = [{"type": "image_url", "url": url} for url in urls]
    return await post("/v1/infer", pipeline, json={"input": images, **members})


class TestHubServing:
    async def test_the_documented_call_gets_the_documented_answer(self):
        pipeline = FakePipeline()
        answer = await hub(pipeline, images=[BASE64])
        assert (answer.status_code, pipeline.data, pipeline.options) == (200, DATA, PageOptions())
        assert answer.json() == {
            "msg": "",
            "results": [[{"confidence": 0.9877, "text": "hello, wörld", "text_region": CORNERS}]],
            "status": "000",
        }

    async def test_each_picture_has_a_list_and_one_without_text_an_empty_one(self):
        answer = await hub(FakePipeline(outcomes={(OTHER, 1): EMPTY}), images=[OTHER64, BASE64, OTHER64])
        assert [len(lines) for lines in answer.json()["results"]] == [0, 1, 0]

    async def test_the_pages_of_a_document_are_one_list(self):
        answer = await hub(FakePipeline(pages=2), images=[BASE64, OTHER64])
        assert [len(lines) for lines in answer.json()["results"]] == [2, 2]

    @pytest.mark.parametrize(
        ("members", "said"),
        [
            ({}, "images: Field required"),
            ({"images": []}, "images must have 1 to 16 images in base64, not 0"),
            ({"images": [BASE64] * 17}, "images must have 1 to 16 images in base64, not 17"),
            ({"images": [BASE64, "%%%"]}, "image 2 of images is not base64"),
            ({"images": ["https://example.org/a.png"]}, "image 1 of images: addresses are not fetched here"),
            ({"images": [BASE64], "paths": "a.png"}, "unknown option 'paths' in the JSON body; the options are images"),
            ({"image": [BASE64]}, "unknown option 'image' in the JSON body; did you mean 'images'?"),
        ],
    )
    async def test_what_can_not_be_done_is_told_as_a_module_would(self, members, said):
        answer = await hub(**members)
        assert answer.status_code == 400
        assert {**answer.json(), "msg": ""} == {"msg": "", "results": "", "status": "101"}
        assert said in answer.json()["msg"]

    async def test_failures_keep_their_status(self):
        answer = await hub(FakePipeline(BackendUnavailable("no models")), images=[BASE64])
        assert (answer.status_code, answer.json()["msg"]) == (503, "no models")
        assert "retry-after" in answer.headers


class TestUmi:
    async def test_the_documented_call_gets_the_documented_answer(self):
        pipeline = FakePipeline()
        answer = await umi(pipeline)
        assert (answer.status_code, pipeline.data, pipeline.options) == (200, DATA, PageOptions())
        content = answer.json()
        assert 0 <= content.pop("time") < 60
        assert content.pop("timestamp") > 1_700_000_000
        assert content == {
            "code": 100,
            "data": [{"text": "hello, wörld", "score": 0.9877, "box": CORNERS, "end": "\n"}],
        }

    async def test_every_option_is_alive(self):
        pipeline = FakePipeline()
        options = {"ocr.language": "models/config_en.txt", "ocr.cls": False, "ocr.limit_side_len": 960}
        await umi(pipeline, options=options)
        assert pipeline.options == PageOptions(
            recognition=RecognitionOptions(reread=False), detection=DetectionOptions(limit_side=960)
        )

    @pytest.mark.parametrize("side", [4320, 999999])
    async def test_beyond_the_limit_pictures_are_looked_at_in_full(self, side):
        pipeline = FakePipeline()
        await umi(pipeline, options={"ocr.limit_side_len": side})
        assert pipeline.options.detection == DetectionOptions(tile=True)

    @pytest.mark.parametrize(
        ("options", "data"),
        [
            ({"data.format": "text"}, "hello, wörld 你好\n你好\n"),
            ({"data.format": "text", "tbpu.parser": "multi_line"}, "hello, wörld\n你好\n你好\n"),
            ({"data.format": "text", "tbpu.parser": "none"}, "hello, wörld\n你好\n你好\n"),
            ({"data.format": "text", "tbpu.parser": "multi_none"}, "hello, wörld 你好你好"),
        ],
    )
    async def test_text_is_joined_by_the_ends_of_lines(self, options, data):
        answer = await umi(FakePipeline(TWO_PARAGRAPHS), options=options)
        assert answer.json()["data"] == data

    @pytest.mark.parametrize(
        ("areas", "code"),
        [([], 100), ([[[0, 0], [200, 43]]], 100), ([[[0, 0], [1, 1]], [[10, 20], [110.3, 44]]], 101)],
    )
    async def test_lines_within_ignored_areas_are_left_out(self, areas, code):
        answer = await umi(options={"tbpu.ignoreArea": areas})
        assert answer.json()["code"] == code

    async def test_no_text_is_a_success_with_a_code_of_its_own(self):
        answer = await umi(FakePipeline(EMPTY))
        assert (answer.status_code, answer.json()["code"]) == (200, 101)
        assert isinstance(answer.json()["data"], str)

    async def test_what_it_takes_can_be_looked_up(self):
        async with client_of(app_with()) as client:
            described = (await client.get("/api/ocr/get_options")).json()
        assert list(described) == [
            "ocr.language",
            "ocr.cls",
            "ocr.limit_side_len",
            "tbpu.parser",
            "tbpu.ignoreArea",
            "data.format",
        ]
        pipeline = FakePipeline()
        answer = await umi(pipeline, options={name: one["default"] for name, one in described.items()})
        assert (answer.status_code, pipeline.options) == (200, PageOptions())

    @pytest.mark.parametrize(
        ("members", "said"),
        [
            ({"option": {}}, "unknown option 'option' in the JSON body; did you mean 'options'?"),
            ({"options": {"ocr.clss": True}}, "unknown option 'ocr.clss' in the options; did you mean 'ocr.cls'?"),
            ({"options": {"ocr.cls": True, "ocr.language": "models/config_korean.txt"}}, "ocr.language: Input should"),
            ({"options": {"tbpu.parser": "single_code"}}, "tbpu.parser: Input should be"),
            ({"options": {"tbpu.ignoreArea": [[1, 2]]}}, "tbpu.ignoreArea: "),
            ({"options": {"tbpu.ignoreArea": [[[0, 0], [9, 9]]] * 101}}, "at most 2 objects, 301 lists"),
            ({"options": [1]}, "options: "),
            ({"base64": "%%%"}, "base64 is not base64"),
            ({"base64": 5}, "base64: Input should be a valid string"),
        ],
    )
    async def test_what_can_not_be_done_is_named(self, members, said):
        answer = await umi(**members)
        assert (answer.status_code, answer.json()["code"], list(answer.json())) == (400, 400, ["code", "data"])
        assert said in answer.json()["data"]

    async def test_failures_have_their_status_as_code(self):
        answer = await umi(FakePipeline(UnreadableImage("broken")))
        assert (answer.status_code, answer.json()) == (422, {"code": 422, "data": "broken"})


class TestNim:
    async def test_the_documented_call_gets_the_documented_answer(self):
        pipeline = FakePipeline(replace(PAGE, paragraphs=(Paragraph((0,), LINE.region.quad),)))
        answer = await nim(pipeline)
        assert (answer.status_code, pipeline.data, pipeline.options) == (200, DATA, PageOptions())
        points = [{"x": 0.0502, "y": 0.2}, {"x": 0.5513, "y": 0.2}, {"x": 0.55, "y": 0.44}, {"x": 0.05, "y": 0.44}]
        assert answer.json() == {
            "data": [
                {
                    "index": 0,
                    "text_detections": [
                        {
                            "text_prediction": {"text": "hello, wörld", "confidence": 0.9877},
                            "bounding_box": {"points": points, "type": "quadrilateral"},
                        }
                    ],
                }
            ],
            "model": "ppocrv6-small",
            "usage": {"images_size_mb": 1.4e-05},
        }

    async def test_each_picture_has_its_level(self):
        pipeline = FakePipeline(replace(PAGE, lines=(replace(LINE, words=(WORD,)),)))
        answer = await nim(pipeline, urls=(BASE64, OTHER64), merge_levels=["sentence", "word"])
        assert pipeline.options.level == "word"
        items = answer.json()["data"]
        assert [item["index"] for item in items] == [0, 1]
        assert [item["text_detections"][0]["text_prediction"]["text"] for item in items] == ["hello, wörld", "wörld"]

    async def test_lines_of_a_paragraph_are_one_text_with_their_mean_confidence(self):
        answer = await nim(FakePipeline(TWO_PARAGRAPHS))
        assert [one["text_prediction"] for one in answer.json()["data"][0]["text_detections"]] == [
            {"text": "hello, wörld 你好", "confidence": 0.9438},
            {"text": "你好", "confidence": 0.9},
        ]

    async def test_each_page_of_a_document_is_an_item_with_its_index(self):
        answer = await nim(FakePipeline(pages=2), urls=(BASE64, OTHER64))
        assert [item["index"] for item in answer.json()["data"]] == [0, 0, 1, 1]

    @pytest.mark.parametrize(
        ("members", "said"),
        [
            ({"urls": ()}, "input must have 1 to 16 images, not 0"),
            ({"urls": (BASE64, "http://example.org/a.png")}, "input[1].url: addresses are not fetched here"),
            ({"urls": ("data:image/png;base64,%",)}, "input[0].url is not base64"),
            ({"input": ["x"]}, "input[0] must be an object with type and url"),
            ({"input": [{"type": "text", "url": BASE64}]}, "type: Input should be 'image_url'"),
            ({"input": [{"typ": "image_url"}]}, "unknown option 'typ' in the object input[0]; did you mean 'type'?"),
            ({"merge_level": ["word"]}, "unknown option 'merge_level' in the JSON body; did you mean 'merge_levels'?"),
            ({"merge_levels": ["page"]}, "merge_levels has 'page', but a level is paragraph or sentence or word here"),
            ({"merge_levels": ["word", "word"]}, "merge_levels must have one level for each of the 1 images, not 2"),
        ],
    )
    async def test_what_can_not_be_done_is_a_422_that_names_it(self, members, said):
        answer = await nim(**members)
        assert (answer.status_code, list(answer.json())) == (422, ["detail"])
        assert said in answer.json()["detail"]

    async def test_failures_keep_their_status(self):
        answer = await nim(FakePipeline(BackendUnavailable("no models")))
        assert (answer.status_code, answer.json()) == (503, {"detail": "no models"})
