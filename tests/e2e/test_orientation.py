"""The orientation of pages that were turned on purpose, found by the real models."""

import httpx
import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.corpus]

TURNED = {
    "cnocr_multi-line_cn1.png": 0,
    "derived_cnocr_multi-line_cn1_ccw180.png": 180,
    "derived_easyocr_chinese_ccw180.jpg": 180,
    "derived_ppocr_11_ccw90.jpg": 90,
    "derived_ppocr_00018069_ccw90.jpg": 90,
    "docling_ocr_test_rot180.png": 180,
}


@pytest.mark.parametrize("name", TURNED)
def test_a_page_is_found_to_be_turned_as_it_is(gateway, corpus, name):
    data = (corpus / "images" / name).read_bytes()
    answer = httpx.post(f"{gateway}/v1/ocr", content=data, timeout=60, trust_env=False).raise_for_status().json()
    [page] = answer["pages"]
    assert page["orientation"]["turned"] == TURNED[name]
    assert abs(page["orientation"]["skew"]) < 1
    assert sorted(index for paragraph in page["paragraphs"] for index in paragraph["lines"]) == list(
        range(len(page["lines"]))
    )
