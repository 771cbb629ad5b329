"""The Python calls that PaddleX, rapidocr_api, PaddleOCR 2.x and Umi-OCR document, with the library that they use.

python documented_requests.py ADDRESS FILE
"""

import base64
import json
import sys

import requests

address, path = sys.argv[1:]
with open(path, "rb") as file:  # noqa: PTH123 - as it is documented
    data = file.read()
text = base64.b64encode(data).decode("ascii")


def lines_of_paddlex():
    """The basic serving client in PaddleX's page on OCR."""
    response = requests.post(f"{address}/ocr", json={"file": text, "fileType": 1}, timeout=60)
    assert response.status_code == 200
    [page] = response.json()["result"]["ocrResults"]
    return page["prunedResult"]["rec_texts"]


def lines_of_rapidocr_api():
    """Both ways of its README."""
    options = {"use_det": True, "use_cls": True, "use_rec": True}
    with open(path, "rb") as file:  # noqa: PTH123
        by_file = requests.post(f"{address}/ocr", files={"image_file": (path, file)}, data=options, timeout=60).json()
    by_data = requests.post(f"{address}/ocr", data={"image_data": text}, timeout=60).json()
    assert by_data == by_file
    return [by_file[str(number)]["rec_txt"] for number in range(len(by_file))]


def lines_of_hub_serving():
    """As tools/test_hubserving.py of PaddleOCR 2.x."""
    response = requests.post(
        url=f"{address}/predict/ocr_system",
        headers={"Content-type": "application/json"},
        data=json.dumps({"images": [text]}),
        timeout=60,
    )
    return [line["text"] for line in response.json()["results"][0]]


def lines_of_umi():
    """The example of its manual."""
    response = requests.post(
        f"{address}/api/ocr",
        data=json.dumps({"base64": text, "options": {"data.format": "text"}}),
        headers={"Content-Type": "application/json"},
        timeout=60,
    )
    response.raise_for_status()
    content = json.loads(response.text)
    assert content["code"] == 100
    return content["data"].splitlines()


callers = (lines_of_paddlex, lines_of_rapidocr_api, lines_of_hub_serving, lines_of_umi)
print(json.dumps({caller.__name__.removeprefix("lines_of_"): caller() for caller in callers}))
