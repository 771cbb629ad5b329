import re

import pytest
from web_fakes import app_with, client_of

from gateway.web.page import MEDIA_TYPES, create_page_router, is_known, read_files

FILES = read_files()


async def ask(path, method="GET", **request):
    app = app_with()
    app.include_router(create_page_router())
    async with client_of(app) as client:
        return await client.request(method, path, **request)


async def test_the_page_is_at_the_root():
    answer = await ask("/")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.content == FILES["index.html"].content


async def test_without_the_page_there_is_nothing_at_the_root():
    async with client_of(app_with()) as client:
        answers = [await client.get(path) for path in ("/", "/page/page.js")]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(404, "not_found")] * 2


@pytest.mark.parametrize("name", FILES)
async def test_every_file_has_its_type_which_browsers_do_not_guess(name):
    answer = await ask(f"/page/{name}")
    assert answer.content == FILES[name].content
    assert answer.headers["content-type"] == MEDIA_TYPES[name[name.rindex(".") :]]
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/page/", "/page/page.py", "/page/../page.py", "/page/%2e%2e%2fpage.py"])
async def test_nothing_else_of_the_package_is_served(path):
    assert (await ask(path)).status_code == 404


@pytest.mark.parametrize("path", ["/", "/page/page.js"])
class TestAnswers:
    async def test_a_browser_may_load_only_what_is_served_here(self, path):
        policy = (await ask(path)).headers["content-security-policy"].split("; ")
        assert policy[0] == "default-src 'none'"
        assert {"script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"} < set(policy)
        assert not re.search(r"unsafe|http|\*", "".join(policy))

    async def test_head_has_the_header_and_no_body(self, path):
        head, whole = await ask(path, "HEAD"), await ask(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == str(len(whole.content))

    async def test_a_browser_that_has_the_file_is_told_so(self, path):
        first = await ask(path)
        again = await ask(path, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]

    async def test_a_browser_asks_each_time_whether_the_file_is_new(self, path):
        assert (await ask(path)).headers["cache-control"] == "no-cache"

    async def test_other_methods_are_refused(self, path):
        answer = await ask(path, "POST")
        assert (answer.status_code, set(answer.headers["allow"].split(", "))) == (405, {"GET", "HEAD"})


@pytest.mark.parametrize(
    ("if_none_match", "known"),
    [("", False), ('"a"', True), ('W/"a"', True), ('"b"', False), ('"b", W/"a"', True), ("a", False)],
)
def test_tags_are_compared_as_http_says(if_none_match, known):
    assert is_known('"a"', if_none_match) is known


def test_files_name_no_other_host():
    for file in FILES.values():
        addresses = set(re.findall(rb"https?://[^\s<\"]+", file.content))
        assert addresses <= {b"http://www.w3.org/2000/svg", b"http://ADDRESS/v1/ocr"}


def test_addresses_are_relative_so_that_a_proxy_may_add_a_prefix():
    assert not re.findall(rb"(?:src|href)=\"/", FILES["index.html"].content)


def test_all_that_is_loaded_is_there():
    start = re.findall(r"(?:src|href)=\"page/([^\"]+)\"", FILES["index.html"].content.decode())
    imports = {name for file in FILES.values() for name in re.findall(rb"from \"\./([^\"]+)\"", file.content)}
    assert {*start, *(name.decode() for name in imports)} == FILES.keys() - {"index.html"}


def test_nothing_is_written_into_the_page_as_markup():
    for file in FILES.values():
        assert not re.search(rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", file.content)
