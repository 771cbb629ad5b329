"""A real browser with the gateway's page in it, as people use it: one for a whole module of tests."""

import base64
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Request, Route, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DESK, PHONE = (1280, 800), (360, 740)
WAIT_MS = 60_000

MAKE_TRANSFER = """([name, type, data]) => {
    const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name, { type }));
    return transfer;
}"""
"""What the browser hands over when files are dropped or pasted."""


@dataclass(frozen=True)
class File:
    """A file as a browser sees it."""

    name: str
    data: bytes
    media_type: str = "image/png"

    def chosen(self) -> dict:
        return {"name": self.name, "mimeType": self.media_type, "buffer": self.data}


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A headless Chromium of this machine; a test that needs it skips without."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"needs a browser: none of {', '.join(NAMES)} is on PATH")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=root)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visitor:
    """Somebody who looks at the page.

    Attributes:
        page: Playwright's.
        asked: requests to /v1/ocr so far.
        complaints: what the page wrote to the console, and errors that nobody caught.
    """

    page: Page
    asked: list[Request] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def choose(self, *files: File) -> None:
        self.page.set_input_files("#files", [file.chosen() for file in files])
        self.wait_done()

    def drop(self, file: File) -> None:
        self.page.dispatch_event("#drop", "drop", {"dataTransfer": self._transfer(file)})
        self.wait_done()

    def paste(self, file: File) -> None:
        paste = "(transfer) => document.dispatchEvent(new ClipboardEvent('paste', { clipboardData: transfer }))"
        self._transfer(file).evaluate(paste)
        self.wait_done()

    def show(self, level: str) -> None:
        self.page.locator("#level label", has_text=level).click()
        self.wait_done()

    def wait_done(self) -> None:
        expect(self.page.locator("#stop")).to_be_hidden(timeout=WAIT_MS)

    def texts(self) -> list[str]:
        """Of each line in the list."""
        return ["".join(item.locator(".text").all_inner_texts()) for item in self.lines().all()]

    def lines(self) -> Locator:
        return self.page.locator("#lines > li")

    def units(self) -> Locator:
        return self.page.locator("#lines button")

    def quads(self) -> Locator:
        return self.page.locator("#quads polygon")

    def status(self) -> str:
        return self.page.inner_text("#status")

    def copied(self) -> str:
        return self.page.evaluate("navigator.clipboard.readText()")

    def picture_size(self) -> list[int]:
        """Of the picture itself, once it has been loaded."""
        picture = self.page.locator("#picture")
        expect(picture).to_have_attribute("src", re.compile("^blob:"), timeout=WAIT_MS)
        return picture.evaluate("async (image) => (await image.decode(), [image.naturalWidth, image.naturalHeight])")

    def scrolls_sideways(self) -> bool:
        return self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth")

    def _transfer(self, file: File):
        data = base64.b64encode(file.data).decode()
        return self.page.evaluate_handle(MAKE_TRANSFER, [file.name, file.media_type, data])


@contextmanager
def visit(browser: Browser, url: str, *, size: Sequence[int] = DESK, **choices) -> Iterator[Visitor]:
    """A visitor in a context of its own, who notes each complaint of the page."""
    context: BrowserContext = browser.new_context(viewport={"width": size[0], "height": size[1]}, **choices)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    try:
        visitor = Visitor(context.new_page())
        visitor.page.on("request", lambda request: "/v1/ocr" in request.url and visitor.asked.append(request))
        visitor.page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
        visitor.page.on("console", lambda message: visitor.complaints.append(message.text))
        visitor.page.goto(url)
        expect(visitor.page.locator("#limits")).not_to_be_empty(timeout=WAIT_MS)
        yield visitor
    finally:
        context.close()


def answer_with(visitor: Visitor, lines: Sequence[str]) -> None:
    """Let the next requests be answered with a made page of these lines."""
    quad = [[10, 10], [200, 10], [200, 40], [10, 40]]
    made = [{"quad": quad, "text": text, "score": 0.9, "words": None} for text in lines]
    page = {"file": 1, "number": 1, "width": 420, "height": 160, "lines": made, "text": "", "image": {"paper": None}}
    warning = {"code": lines[0], "detail": lines[0], "file": 1, "page": 1}
    files = [{"number": 1, "format": "PNG", "pages": 1}]
    answer = {"files": files, "pages": [page], "errors": [], "warnings": [warning], "model_set": lines[0]}

    def answered(route: Route) -> None:
        route.fulfill(status=200, content_type="application/json", body=json.dumps(answer))

    visitor.page.route("**/v1/ocr*", answered)
