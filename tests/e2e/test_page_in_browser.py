"""The page at `/`, used in a real browser on a real gateway."""

import json
import re
import subprocess

import pytest
from browsers import DESK, PHONE, File, answer_with, running_browser, visit
from drawings import TEXT, drawing, file_of
from playwright.sync_api import expect
from rendered_pages import page as drawn_page

from gateway.formats.table import FORMATS
from gateway.read_command import SUFFIXES
from gateway.web.problems import PROBLEMS

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

INVOICE = File("invoice.png", file_of(drawing(), "PNG"))
NOTES = File("notes.txt", b"no picture", "text/plain")
LINES = TEXT.splitlines()
PAGES = ["Winter Sugar", "Delivery 1300"]


@pytest.fixture(scope="module")
def browser():
    with running_browser() as browser:
        yield browser


@pytest.fixture
def visitor(browser, gateway):
    with visit(browser, gateway) as visitor:
        yield visitor
        assert visitor.complaints == []


@pytest.fixture(scope="class")
def reader(browser, gateway):
    """A visitor who has had the invoice read, for the tests of a class."""
    with visit(browser, gateway) as visitor:
        visitor.choose(INVOICE)
        yield visitor
        assert visitor.complaints == []


@pytest.fixture
def unlucky(browser, gateway):
    """A visitor whose browser complains, because what is asked for fails."""
    with visit(browser, gateway) as visitor:
        yield visitor


def document():
    first, *others = (drawn_page([text], width=420, height=120, size=32) for text in PAGES)
    data = file_of(first, "PDF", save_all=True, append_images=others, resolution=200)
    return File("scan.pdf", data, "application/pdf")


class TestFiles:
    def test_may_be_chosen(self, visitor):
        visitor.choose(INVOICE)
        assert visitor.texts() == LINES
        assert re.fullmatch(r"2 lines in \d+\.\d s\.", visitor.status())

    def test_may_be_dropped(self, visitor):
        visitor.drop(INVOICE)
        assert visitor.texts() == LINES

    def test_may_be_pasted(self, visitor):
        visitor.paste(INVOICE)
        assert visitor.texts() == LINES

    def test_may_be_of_a_type_that_the_browser_does_not_draw(self, visitor):
        visitor.choose(File("photo.heic", file_of(drawing(), "HEIF"), "image/heic"))
        assert visitor.texts() == LINES
        assert visitor.picture_size() == [420, 160]

    def test_are_shown_page_by_page_with_a_clean_picture_of_each(self, visitor):
        visitor.choose(document())
        assert visitor.page.locator("#page option").all_inner_texts() == ["page 1", "page 2"]
        for number, text in enumerate(PAGES, 1):
            assert visitor.texts() == [text]
            assert visitor.picture_size() == [420, 120]
            expect(visitor.page.locator("#picture")).to_have_attribute("alt", f"Page {number} of scan.pdf")
            assert visitor.page.locator("#picture").evaluate(COLOURFUL_PIXELS) == 0
            visitor.page.click("#next", force=True)
        assert visitor.status().startswith("2 lines on 2 pages in ")
        assert "detect" in visitor.page.inner_text("#times tbody")

    def test_may_be_several_of_which_one_is_bad(self, visitor):
        visitor.choose(INVOICE, NOTES)
        assert visitor.page.locator("#page option").all_inner_texts() == ["invoice.png", "notes.txt: not read"]
        assert visitor.texts() == LINES
        assert "1 page or file could not be read" in visitor.status()
        visitor.page.click("#next")
        expect(visitor.page.locator("#problem-title")).to_have_text(PROBLEMS["unsupported_image"].title)
        assert visitor.texts() == []
        visitor.page.click("#previous")
        expect(visitor.page.locator("#problem")).to_be_hidden()
        assert visitor.texts() == LINES


COLOURFUL_PIXELS = """async (image) => {
    await image.decode();
    const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    const colourful = (at) => Math.max(...data.slice(at, at + 3)) - Math.min(...data.slice(at, at + 3)) > 60;
    return Array.from({ length: data.length / 4 }, (_, index) => colourful(4 * index)).filter(Boolean).length;
}"""


class TestPointing:
    def test_at_a_quad_shows_its_text_and_score_and_its_line_in_the_list(self, reader):
        reader.quads().nth(1).hover()
        expect(reader.page.locator("#tip")).to_have_text(re.compile(rf"{LINES[1]}\s+[01]\.\d\d"))
        expect(reader.units().nth(1)).to_have_class(re.compile("pointed"))

    def test_at_a_line_shows_its_quad(self, reader):
        reader.units().nth(0).hover()
        expect(reader.quads().nth(0)).to_have_class(re.compile("pointed"))

    def test_quads_lie_where_the_text_is(self, reader):
        sheet, quad = reader.page.locator("#sheet").bounding_box(), reader.quads().nth(0).bounding_box()
        scale = sheet["width"] / 420
        assert (quad["x"] - sheet["x"]) / scale == pytest.approx(32, abs=8)
        assert (quad["y"] - sheet["y"]) / scale == pytest.approx(36, abs=12)

    def test_with_the_keyboard_moves_from_line_to_line_and_copies(self, reader):
        reader.page.focus("#copy-all")
        reader.page.keyboard.press("Tab")
        expect(reader.units().nth(0)).to_be_focused()
        reader.page.keyboard.press("ArrowDown")
        expect(reader.quads().nth(1)).to_have_class(re.compile("pointed"))
        reader.page.keyboard.press("Enter")
        expect(reader.page.locator("#status")).to_have_text(f"Copied “{LINES[1]}”.")
        assert reader.copied() == LINES[1]

    def test_a_click_on_a_quad_copies_and_goes_to_its_line(self, reader):
        reader.quads().nth(0).click()
        expect(reader.units().nth(0)).to_be_focused()
        assert reader.copied() == LINES[0]

    def test_all_may_be_copied_at_once(self, reader):
        reader.page.click("#copy-all")
        expect(reader.page.locator("#status")).to_have_text("Copied the text of this page.")
        assert reader.copied() == TEXT


def test_without_the_clipboards_api_which_only_https_has_copying_works_too(visitor):
    visitor.choose(INVOICE)
    visitor.page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })")
    visitor.units().nth(1).click()
    expect(visitor.page.locator("#status")).to_have_text(f"Copied “{LINES[1]}”.")
    visitor.page.evaluate("delete navigator.clipboard")
    assert visitor.copied() == LINES[1]


def test_words_and_characters_are_asked_for_once(visitor):
    visitor.choose(INVOICE)
    visitor.show("characters")
    assert visitor.quads().count() == visitor.units().count() == len("".join(TEXT.split()))
    visitor.show("words")
    assert visitor.units().all_inner_texts() == TEXT.split()
    visitor.show("lines")
    assert visitor.units().count() == len(LINES)
    assert [request.url.partition("?")[2] for request in visitor.asked] == ["", "level=char"]


def test_every_format_may_be_downloaded(visitor, tmp_path):
    visitor.choose(INVOICE)
    assert visitor.page.locator("#downloads button").all_inner_texts() == ["json", "ndjson", *FORMATS]
    for name in ["json", "text", "pdf", "png"]:
        with visitor.page.expect_download() as download:
            visitor.page.click(f"#downloads button[value={name}]")
        assert download.value.suggested_filename == f"invoice{SUFFIXES[name]}"
        download.value.save_as(tmp_path / name)
        visitor.wait_done()
    assert json.loads((tmp_path / "json").read_bytes())["pages"][0]["text"] == TEXT
    assert (tmp_path / "text").read_text().strip() == TEXT
    assert (tmp_path / "pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "png").read_bytes().startswith(b"\x89PNG")


def test_a_format_of_one_page_is_of_the_page_that_is_shown(visitor, tmp_path):
    visitor.choose(document())
    visitor.page.click("#next")
    with visitor.page.expect_download() as download:
        visitor.page.click("#downloads button[value=page]")
    download.value.save_as(tmp_path / "page")
    assert PAGES[1] in (tmp_path / "page").read_text()


def test_the_times_are_those_of_the_header(visitor):
    with visitor.page.expect_response("**/v1/ocr") as response:
        visitor.choose(INVOICE)
    header = re.findall(r"(\w+);dur=([\d.]+)", response.value.header_value("server-timing"))
    rows = visitor.page.locator("#times tbody tr").all_inner_texts()
    assert [tuple(row.split()[:2]) for row in rows] == header


def test_the_line_for_a_terminal_gives_the_same(visitor, tmp_path):
    awkward = File("it's an $invoice.png", INVOICE.data)
    visitor.page.click("summary")
    visitor.page.fill("input[name=min_score]", "0.2")
    visitor.page.uncheck("input[name=reread]")
    visitor.choose(awkward)
    line = visitor.page.inner_text("#curl")
    assert "reread=false" in line
    assert "min_score=0.2" in line
    (tmp_path / awkward.name).write_bytes(awkward.data)
    told = subprocess.run(["sh", "-c", f"{line} --silent"], cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(told.stdout)["pages"][0]["text"] == TEXT


class TestProblems:
    def test_are_shown_with_title_detail_and_what_to_do(self, unlucky):
        unlucky.choose(NOTES)
        kind = PROBLEMS["unsupported_image"]
        told = unlucky.page.inner_text("#problem")
        assert kind.title in told
        assert kind.advice in told
        assert "The data looks like plain text" in told
        expect(unlucky.page.locator("#retry")).to_be_hidden()

    def test_name_the_option(self, unlucky):
        unlucky.page.click("summary")
        unlucky.page.fill("input[name=min_score]", "much")
        unlucky.choose(INVOICE)
        assert "Min_score is 'much', but must be a number from 0 to 1" in unlucky.page.inner_text("#problem-detail")

    def test_of_the_network_can_be_tried_again(self, unlucky):
        unlucky.page.route("**/v1/ocr", lambda route: route.abort(), times=1)
        unlucky.choose(INVOICE)
        assert unlucky.page.inner_text("#problem-title") == "The service can't be reached"
        unlucky.page.click("#retry")
        expect(unlucky.page.locator("#problem")).to_be_hidden()
        unlucky.wait_done()
        assert unlucky.texts() == LINES

    def test_of_a_proxy_are_not_taken_for_the_gateways(self, unlucky):
        unlucky.page.route("**/v1/ocr", lambda route: route.fulfill(status=502, body="<h1>Bad gateway</h1>"))
        unlucky.choose(INVOICE)
        assert unlucky.page.inner_text("#problem-title") == "Status 502"

    def test_a_stream_that_is_cut_is_one(self, unlucky):
        unlucky.page.route(
            "**/v1/ocr?*", lambda route: route.fulfill(status=200, body='{"event": "start", "total": 2, "files": []}\n')
        )
        unlucky.choose(document())
        assert unlucky.page.inner_text("#problem-title") == "The answer was cut"

    def test_a_key_that_is_demanded_can_be_typed_and_is_kept_in_memory_only(self, unlucky):
        problem = {"code": "unauthenticated", "title": "Who are you?", "detail": "an API key is needed"}

        def guarded(route):
            if route.request.headers.get("authorization") == "Bearer open sesame":
                route.continue_()
            else:
                route.fulfill(status=401, content_type="application/problem+json", body=json.dumps(problem))

        unlucky.page.route("**/v1/ocr", guarded)
        unlucky.choose(INVOICE)
        unlucky.page.get_by_label("API key").fill("open sesame")
        unlucky.page.get_by_label("API key").press("Enter")
        expect(unlucky.units()).to_have_count(len(LINES), timeout=30_000)
        assert "sesame" not in unlucky.page.content()
        assert unlucky.page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])") == '[{},{},""]'
        assert "$GATEWAY_API_KEY" in unlucky.page.inner_text("#curl")


def test_work_can_be_stopped(visitor):
    visitor.page.route("**/v1/ocr", lambda route: None)
    visitor.page.set_input_files("#files", INVOICE.chosen())
    visitor.page.click("#stop")
    expect(visitor.page.locator("#status")).to_have_text("Stopped.")


def test_what_was_read_is_text_and_never_markup(visitor):
    evil = "<img src=x onerror='window.broken = true'>"
    answer_with(visitor, [evil, "</li><script>window.broken = true</script>"])
    visitor.choose(File(f"{evil}.png", INVOICE.data))
    visitor.units().nth(0).click()
    visitor.units().nth(0).hover()
    assert visitor.texts()[0] == evil
    assert evil in visitor.page.inner_text("#warnings")
    assert visitor.page.locator("#tip").text_content().startswith(evil)
    assert visitor.page.locator("#result img").count() == 1
    assert visitor.page.evaluate("window.broken") is None


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_nothing_sticks_out_sideways(browser, gateway, size):
    with visit(browser, gateway, size=size) as visitor:
        assert not visitor.scrolls_sideways()
        answer_with(visitor, ["a long line that goes on and on " * 9, "Without_any_space_in_it" * 9, "12.50"])
        visitor.choose(File("a-name-that-is-long-" * 9 + ".png", INVOICE.data))
        visitor.page.click("summary")
        for _ in range(4):
            visitor.page.click("#larger", force=True)
        assert visitor.lines().count() == 3
        assert not visitor.scrolls_sideways()
        visitor.page.unroute("**/v1/ocr*")
        visitor.choose(NOTES)
        expect(visitor.page.locator("#problem")).to_be_visible()
        assert not visitor.scrolls_sideways()


def test_those_who_want_no_motion_get_none(browser, gateway):
    still = "getComputedStyle(document.querySelector('#choose')).transitionDuration"
    with visit(browser, gateway, reduced_motion="reduce") as visitor:
        assert visitor.page.evaluate(still) == "0s"
