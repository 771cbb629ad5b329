import xml.etree.ElementTree as ET

from PIL import Image, ImageSequence

from gateway.ocr.decoding.files import decode_page, inspect_file
from gateway.ocr.decoding.limits import DecodeLimits
from loadtest.documents.__main__ import report
from loadtest.documents.chart import chart
from loadtest.documents.made import Document, fax, scanned_pdf
from loadtest.documents.streaming import Leaving, Run

MB = 1_000_000
DOCUMENT = Document("PDF of 4 scans", bytes(2 * MB), ("Page 1", "Page 2", "Page 3", "Page 4"))
RUN = Run(DOCUMENT, (0.5, 2.0, 3.5, 5.0), 4, tuple((0.5 * step, (300 + 10 * (step > 4)) * MB) for step in range(11)))


def test_the_report_has_what_matters():
    text = "".join(report([RUN], Leaving(5, 0.012)))
    assert "| PDF of 4 scans | 2.0 | 500 ms | 0.67 | 4 of 4 | 300 MB | 310 MB | 310 MB |" in text
    assert "left after 5 pages: a second later the gateway and its decoders used 1.2% of a core" in text


def test_the_chart_is_a_picture_with_a_line_for_each_document():
    root = ET.fromstring(chart([RUN, RUN]))
    lines = [node for node in root.iter() if node.tag.endswith("polyline")]
    assert len(lines) == 2
    assert len(lines[0].attrib["points"].split()) == 11


def test_made_documents_have_their_pages():
    for document, count in ((scanned_pdf(3), 3), (fax(2), 2)):
        assert len(document.titles) == count
        assert len(inspect_file(document.data, DecodeLimits()).page_pixels) == count
        assert decode_page(document.data, DecodeLimits(), count).image.shape == (2339, 1654, 3)


def test_no_two_pages_are_alike(tmp_path):
    path = tmp_path / "fax.tif"
    path.write_bytes(fax(3).data)
    with Image.open(path) as picture:
        assert len({page.tobytes() for page in ImageSequence.Iterator(picture)}) == 3
