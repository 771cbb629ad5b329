"""The page at `/` breaks no rule of axe-core in any of its states."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsers import DESK, PHONE, File, running_browser, visit
from drawings import drawing, file_of
from playwright.sync_api import expect

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

INVOICE = File("invoice.png", file_of(drawing(), "PNG"))
NOTES = File("notes.txt", b"no picture", "text/plain")


@pytest.fixture(scope="module")
def browser():
    with running_browser() as browser:
        yield browser


def violations(visitor):
    """Of any rule, with the elements that break it."""
    found = Axe().run(visitor.page).response["violations"]
    return [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found]


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize(("scheme", "brightness"), [("light", range(230, 256)), ("dark", range(40))])
def test_no_rule_is_broken_in_any_state(browser, gateway, size, scheme, brightness):
    with visit(browser, gateway, size=size, color_scheme=scheme) as visitor:
        assert int(visitor.page.evaluate(BACKGROUND)) in brightness
        visitor.page.click("summary")
        assert violations(visitor) == []
        visitor.choose(INVOICE)
        visitor.units().nth(0).focus()
        assert violations(visitor) == []
        visitor.show("words")
        visitor.units().nth(1).hover()
        assert violations(visitor) == []
        visitor.choose(NOTES)
        expect(visitor.page.locator("#problem")).to_be_visible()
        assert violations(visitor) == []


BACKGROUND = "getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"


def test_the_tree_that_screen_readers_see_has_the_lines_as_a_list(browser, gateway):
    with visit(browser, gateway) as visitor:
        assert violations(visitor) == []
        visitor.choose(INVOICE)
        text = visitor.page.get_by_role("list", name="Text", exact=True)
        expect(text.get_by_role("listitem")).to_have_count(2)
        expect(text.get_by_role("button", name="Invoice 2026")).to_have_count(1)
        expect(visitor.page.get_by_role("contentinfo").get_by_role("status")).to_contain_text("2 lines")
        visitor.units().nth(0).focus()
        expect(visitor.units().nth(0)).to_have_accessible_description(visitor.page.inner_text("#score"))
