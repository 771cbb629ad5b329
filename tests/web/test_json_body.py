import json
import tracemalloc
from base64 import b64encode
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import InvalidRequest
from gateway.web.json_body import parse_json

SHAPE = (
    "the JSON body must be one object, without objects in it and with at most 3 images, "
    'as in {"image": "<base64>", "min_score": 0.5}'
)
COUNT = "the JSON body must have one member named image (or images, a list), not "
LIST = 'images must be a list of 1 to 3 images, as in {"images": ["<base64>"]}'
BASE64 = "image is not base64: "
ALPHABET = "; use the standard alphabet (A-Z a-z 0-9 + / =), no line breaks"


@given(st.binary(min_size=1))
def test_the_image_comes_back_as_it_was(data):
    assert parse_json(json.dumps({"image": b64encode(data).decode()}).encode(), max_files=3).files == (data,)


def test_several_images_come_back_in_their_order():
    body = json.dumps({"images": ["YQ==", "data:image/png;base64,Yg==", "data:;base64,Yw=="]}).encode()
    assert parse_json(body, max_files=3).files == (b"a", b"b", b"c")


@pytest.mark.parametrize("header", ["data:image/png;base64,", "data:;base64,", "DATA:image/jpeg;charset=x;BASE64,"])
def test_a_data_uri_is_taken_whatever_type_it_claims(header):
    assert parse_json(json.dumps({"image": header + "aGk="}).encode(), max_files=3).files == (b"hi",)


def test_every_other_member_is_an_option_with_its_type():
    body = parse_json(
        b'{"min_score": 0.5, "image": "aGk=", "reread": false, "limit_side": 960, "x": null}', max_files=3
    )
    assert body.options.place == "JSON body"
    assert body.options.typed
    assert body.options.pairs == (("min_score", 0.5), ("reread", False), ("limit_side", 960), ("x", None))


def test_an_option_given_twice_is_kept_twice_for_whoever_checks_options():
    assert parse_json(b'{"image": "aGk=", "reread": true, "reread": false}', max_files=3).options.pairs == (
        ("reread", True),
        ("reread", False),
    )


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", SHAPE),
        (b"null", SHAPE),
        (b'"aGk="', SHAPE),
        (b'["aGk="]', SHAPE),
        (b'[{"image": "aGk="}]', "the JSON body must be one object"),
        (b"{}{}", SHAPE),
        (b'{"image": {"a": 1}}', SHAPE),
        (b'{"image": ["aGk="]}', "image must be a text"),
        (b'{"images": ["aGk="], "x": []}', SHAPE),
        (b'{"images": "aGk="}', LIST),
        (b'{"images": []}', LIST),
        (b'{"images": ["aGk=", "aGk=", "aGk=", "aGk="]}', LIST),
        (b'{"images": ["aGk=", 1]}', "image must be a text"),
        (b'{"image": "aGk="' + b',"x":1' * 71 + b"}", SHAPE),
        (b"{}", COUNT + "0"),
        (b'{"image": "aGk=", "image": "aGk="}', COUNT + "2"),
        (b'{"image": "aGk=", "images": ["aGk="]}', COUNT + "2"),
        (b'{"image": "aGk="', "the body is not valid JSON: Expecting ',' delimiter: line 1 column 17 (char 16)"),
        (b'\xef\xbb\xbf{"image": "aGk="}', "the body is not valid JSON: Unexpected UTF-8 BOM"),
        (b'{"image": "aGk=", "min_score": NaN}', "the body is not valid JSON: it has no NaN"),
        (b'{"image": "aGk=", "min_score": -Infinity}', "the body is not valid JSON: it has no -Infinity"),
        (
            b'{"image": "aGk=", "limit_side": ' + b"1" * 5000 + b"}",
            "the body is not valid JSON: a number has too many digits",
        ),
        (b'"{"', SHAPE),
        (b'{"image": "\xff"}', "the JSON body is not UTF-8: see byte 11"),
        (b'{"image": 1}', "image must be a text, base64 or a data: URI"),
        (b'{"image": null}', "image must be a text, base64 or a data: URI"),
        (b'{"image": ""}', "image is empty; send the file's bytes in base64"),
        (b'{"image": "data:image/png;base64,"}', "image is empty"),
        (b'{"image": "data:image/png,abc"}', "a data: URI must be in base64"),
        (b'{"image": "data:image/png;base64"}', "a data: URI must be in base64"),
        (b'{"image": "aGk"}', BASE64 + "incorrect padding"),
        (b'{"image": "aGk=aGk="}', BASE64 + "excess data after padding"),
        (b'{"image": "=aGk"}', BASE64 + "leading padding not allowed"),
        (b'{"image": "aG k="}', BASE64 + "character 2 is ' '" + ALPHABET),
        (b'{"image": "aGk=\\n"}', BASE64 + "character 4 is '\\n'" + ALPHABET),
        (b'{"image": "aG-_"}', BASE64 + "character 2 is '-'" + ALPHABET),
        ('{"image": "aGé="}'.encode(), BASE64 + "character 2 is 'é'" + ALPHABET),
        (b'{"image": "\\ud800"}', BASE64 + "character 0 is '\\ud800'" + ALPHABET),
        (
            b'{"image": "https://example.org/a.png"}',
            "image: addresses are not fetched here; send the file's bytes in base64",
        ),
    ],
)
def test_a_broken_body_is_refused_with_what_to_mend(body, detail):
    with pytest.raises(InvalidRequest) as caught:
        parse_json(body, max_files=3)
    assert caught.value.detail.startswith(detail)


@given(
    st.binary(max_size=200)
    | st.text(alphabet='{}[]",:0123456789eE+-.\\u image"nultrfasNI=', max_size=60).map(str.encode)
)
def test_no_body_does_anything_but_pass_or_be_refused(body):
    with suppress(InvalidRequest):
        parse_json(body, max_files=3)


@pytest.mark.parametrize("filler", [b"[],", b'{"a":1},', b'"a":1,'])
def test_a_body_that_would_grow_is_refused_before_anything_is_built(filler):
    body = b'{"image": "aGk=", ' + filler * 100_000 + b"}"
    assert peak_bytes(body) < 100_000


def test_at_most_two_copies_of_an_image_are_held():
    size = 4_000_000
    assert peak_bytes(b'{"image": "' + b"A" * size + b'"}') < 2.1 * size


def peak_bytes(body):
    tracemalloc.start()
    with suppress(InvalidRequest):
        parse_json(body, max_files=3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak
