import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import InvalidRequest
from gateway.web.multipart import FormParser

TYPE = "multipart/form-data; boundary=edge"
COUNT = "the multipart body must have one to 3 parts named 'file', not "
FILE = b'Content-Disposition: form-data; name="file"; filename="a.png"'


def part(headers, content):
    return b"--edge\r\n" + headers + b"\r\n\r\n" + content + b"\r\n"


def field_of(name, value):
    return part(f'Content-Disposition: form-data; name="{name}"'.encode(), value)


def parse(*parts, content_type=TYPE, end=b"--edge--\r\n", step=None):
    parser = FormParser(content_type, max_files=3)
    body = b"".join(parts) + end
    for start in range(0, len(body), step or len(body) or 1):
        parser.feed(body[start : start + step] if step else body)
    return parser.finish()


def refusal(*parts, **choices):
    with pytest.raises(InvalidRequest) as caught:
        parse(*parts, **choices)
    return caught.value.detail


@given(st.binary(min_size=1), st.integers(1, 50))
def test_the_file_comes_back_as_it_was_however_it_was_cut(data, step):
    assert parse(part(FILE, data), step=step).files == (data,) if b"\r\n--edge" not in data else True


def test_several_files_come_back_in_their_order():
    form = parse(part(FILE, b"a"), field_of("reread", b"false"), part(FILE, b"b"), part(FILE, b"c"))
    assert form.files == (b"a", b"b", b"c")
    assert form.options.pairs == (("reread", "false"),)


def test_every_other_field_is_an_option():
    form = parse(field_of("min_score", b"0.5"), part(FILE, b"hi"), field_of("reread", b"false"))
    assert form.options.place == "form"
    assert not form.options.typed
    assert form.options.pairs == (("min_score", "0.5"), ("reread", "false"))


@pytest.mark.parametrize(
    "headers",
    [
        b'Content-Disposition: form-data; name="file"',
        b"content-disposition: form-data; name=file; filename=a",
        b'Content-Type: text/plain\r\nContent-Disposition: form-data; filename="f"; name="file"',
    ],
)
def test_a_file_part_is_known_by_its_name(headers):
    assert parse(part(headers, b"hi")).files == (b"hi",)


@pytest.mark.parametrize(
    "quoted", ['multipart/form-data; boundary="edge"', 'Multipart/Form-Data; charset=x; boundary="edge"']
)
def test_the_boundary_may_be_written_in_the_usual_ways(quoted):
    assert parse(part(FILE, b"hi"), content_type=quoted).files == (b"hi",)


@pytest.mark.parametrize(
    ("parts", "detail"),
    [
        ([], COUNT + "0"),
        ([field_of("min_score", b"0.5")], COUNT + "0"),
        ([part(FILE, b"a")] * 4, COUNT + "4"),
        ([part(FILE.replace(b'"file"', b'"image"'), b"a")], "a file part must be named 'file', not 'image'"),
        ([part(FILE, b"a"), part(FILE, b"")], "file part 2 is empty"),
        ([part(b"Content-Type: image/png", b"a")], "a part of the multipart body has no name"),
        ([part(b"Content-Disposition: form-data", b"a")], "a part of the multipart body has no name"),
        ([field_of("min_score", b"\xff"), part(FILE, b"a")], "the field 'min_score' is not UTF-8"),
        ([field_of("image", b"a" * 1001)], "the field 'image' is longer than 1000 bytes; is it the file?"),
        ([field_of(f"x{n}", b"1") for n in range(36)], "the multipart body has more than 35 parts"),
        ([part(b"X: y\r\n" * 9 + FILE, b"a")], "the multipart body is broken: Maximum header count exceeded"),
        ([part(b"X: " + b"y" * 10_000, b"a")], "the multipart body is broken: Maximum header size exceeded"),
        ([b"preamble\r\n", part(FILE, b"a")], "the multipart body is broken: "),
        ([b"--edge\r\nno header\r\n\r\n"], "the multipart body is broken: "),
    ],
)
def test_a_broken_form_is_refused_with_what_to_mend(parts, detail):
    assert refusal(*parts).startswith(detail)


@pytest.mark.parametrize("end", [b"", b"--edge", b"--edg"])
def test_a_form_that_was_cut_off_is_refused(end):
    assert refusal(part(FILE, b"hi"), end=end) == "the multipart body ends before its closing boundary; send it whole"


@pytest.mark.parametrize(
    "content_type", ["multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; b=c"]
)
def test_a_form_without_a_boundary_is_refused(content_type):
    assert refusal(content_type=content_type).startswith("the multipart Content-Type names no boundary")


def test_an_endless_boundary_is_refused():
    detail = refusal(content_type="multipart/form-data; boundary=" + "x" * 1000)
    assert detail.startswith("the multipart Content-Type is broken: Boundary length 1000")


def test_a_long_name_is_not_repeated():
    assert len(refusal(part(FILE.replace(b'"file"', b"x" * 4000), b"a"))) < 200


def test_ten_thousand_parts_are_not_parsed_to_their_end():
    parser = FormParser(TYPE, max_files=3)
    with pytest.raises(InvalidRequest, match="more than 35 parts"):
        parser.feed(field_of("x", b"1") * 10_000)


@pytest.mark.parametrize("filler", [b"\xff", b"\r", b"\r\n--", b"\r\n--edg"])
def test_at_most_two_copies_of_a_file_are_held_whatever_is_in_it(filler):
    size = 2_000_000
    piece = (filler * (64_000 // len(filler) + 1))[:64_000]
    parser = FormParser(TYPE, max_files=3)
    tracemalloc.start()
    parser.feed(b"--edge\r\n" + FILE + b"\r\n\r\n")
    for _ in range(size // len(piece)):
        parser.feed(piece)
    parser.feed(b"x\r\n--edge--")
    [data] = parser.finish().files
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(data) > 0.9 * size
    assert peak < 2.3 * size


@given(st.binary(max_size=300), st.sampled_from([TYPE, "multipart/form-data; boundary=a"]))
def test_no_body_does_anything_but_pass_or_be_refused(body, content_type):
    parser = FormParser(content_type, max_files=3)
    with suppress(InvalidRequest):
        parser.feed(body)
        parser.finish()
