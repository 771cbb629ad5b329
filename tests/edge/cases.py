"""What clients may send, and what comes back: directly from a gateway, and through nginx."""

from dataclasses import dataclass

from raw_http import Pause, Trickle

MAX_BODY_BYTES = 50_000
PNG = b"\x89PNG\r\n\x1a\n"

CLOSED = "no answer; closed"
KEPT_200 = "200; kept"
BAD = "400 invalid_request; closed"
BAD_KEPT = "400 invalid_request; kept"
NOT_AN_IMAGE = "415 unsupported_image; kept"
CLOSED_NOT_AN_IMAGE = "415 unsupported_image; closed"
TOO_LARGE = "413 body_too_large; closed"
LARGE_HEADER = "431 header_too_large; closed"


@dataclass(frozen=True)
class Case:
    """One row of the table.

    Attributes:
        name: what the client does.
        goal: which goal it stands for.
        steps: what it sends.
        direct: what a gateway answers.
        behind_nginx: what nginx in front of it does; None if the same.
    """

    name: str
    goal: str
    steps: tuple
    direct: str
    behind_nginx: str | None = None

    @property
    def nginx(self):
        return self.behind_nginx or self.direct


def get(*fields, path="/livez", version="1.1", host="a"):
    lines = [f"GET {path} HTTP/{version}", *([f"Host: {host}"] if host is not None else []), *fields]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def post(*fields, body=b"", path="/v1/ocr"):
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: a", *fields, "", ""]).encode("latin-1") + body


def sized(body, *fields):
    return post(f"Content-Length: {len(body)}", *fields, body=body)


def chunked(body, *fields):
    return post("Transfer-Encoding: chunked", *fields, body=body)


def form(body):
    return sized(body, "Content-Type: multipart/form-data; boundary=b")


FILE_PART = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n'

WELL_FORMED = (
    Case("a good request", "-", (get(),), KEPT_200),
    Case("two good requests, sent ahead", "-", (get() + get(),), "200, 200; kept"),
    Case("byte by byte", "-", tuple(bytes([byte]) for byte in get()), KEPT_200),
    Case("HTTP/1.0 without Host", "U8", (get(version="1.0", host=None),), "200; closed"),
    Case("empty lines before the request", "U8", (b"\r\n\r\n" + get(),), KEPT_200),
    Case("a body that is no image", "-", (sized(b"hello"),), NOT_AN_IMAGE, CLOSED_NOT_AN_IMAGE),
    Case("the same in chunks", "-", (chunked(b"5\r\nhello\r\n0\r\n\r\n"),), NOT_AN_IMAGE, CLOSED_NOT_AN_IMAGE),
    Case(
        "chunks with extension and trailer",
        "U8",
        (chunked(b"5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n"),),
        NOT_AN_IMAGE,
        CLOSED_NOT_AN_IMAGE,
    ),
    Case(
        "an upgrade to h2c with a body, as Java sends it",
        "U8",
        (sized(b"hello", "Connection: Upgrade", "Upgrade: h2c"),),
        NOT_AN_IMAGE,
        CLOSED_NOT_AN_IMAGE,
    ),
    Case(
        "100-continue, body after the answer",
        "U1",
        (post("Content-Length: 5", "Expect: 100-continue"), Pause(0.2), b"hello"),
        "100, 415 unsupported_image; kept",
        "100, 415 unsupported_image; closed",
    ),
    Case("no body", "-", (post(),), BAD_KEPT, BAD),
)

FRAMING = (
    Case("no Host", "U8", (get(host=None),), BAD),
    Case("two Hosts", "U8", (get("Host: a"),), BAD),
    Case("Content-Length and Transfer-Encoding", "U8", (chunked(b"0\r\n\r\n", "Content-Length: 5"),), BAD),
    Case(
        "two Content-Lengths that differ", "U8", (post("Content-Length: 5", "Content-Length: 6", body=b"hello"),), BAD
    ),
    Case("two equal Content-Lengths", "U8", (post("Content-Length: 5", "Content-Length: 5", body=b"hello"),), BAD),
    Case("Content-Length: +5", "U8", (post("Content-Length: +5", body=b"hello"),), BAD),
    Case("Content-Length: -5", "U8", (post("Content-Length: -5", body=b"hello"),), BAD),
    Case("Content-Length: 0x5", "U8", (post("Content-Length: 0x5", body=b"hello"),), BAD),
    Case("Content-Length: 5, 5", "U8", (post("Content-Length: 5, 5", body=b"hello"),), BAD),
    Case("Content-Length of 30 digits", "U8", (post("Content-Length: " + "9" * 30),), BAD),
    Case("Transfer-Encoding: xchunked", "U8", (post("Transfer-Encoding: xchunked", body=b"0\r\n\r\n"),), BAD),
    Case(
        "Transfer-Encoding: chunked, identity",
        "U8",
        (post("Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n"),),
        BAD,
    ),
    Case("Transfer-Encoding: identity", "U8", (post("Transfer-Encoding: identity", body=b"hello"),), BAD),
    Case("Transfer-Encoding twice", "U8", (chunked(b"0\r\n\r\n", "Transfer-Encoding: chunked"),), BAD),
    Case(
        "Transfer-Encoding with a space before the colon",
        "U8",
        (post("Transfer-Encoding : chunked", body=b"0\r\n\r\n"),),
        BAD,
    ),
    Case(
        "Transfer-Encoding in HTTP/1.0",
        "U8",
        (b"POST /v1/ocr HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",),
        BAD,
    ),
    Case("a chunk size that is no number", "U8", (chunked(b"ZZ\r\nhello\r\n0\r\n\r\n"),), BAD),
    Case("a negative chunk size", "U8", (chunked(b"-5\r\nhello\r\n0\r\n\r\n"),), BAD),
    Case("a chunk size that overflows", "U8", (chunked(b"1" + b"0" * 20 + b"\r\nhello"),), BAD),
    Case("a chunk longer than its size", "U8", (chunked(b"5\r\nhelloX\r\n0\r\n\r\n"),), BAD),
    Case("a line feed in a chunk extension", "U8", (chunked(b"5;\nhello\r\n0\r\n\r\n"),), BAD, CLOSED_NOT_AN_IMAGE),
    Case("lines that end with a bare line feed", "U8", (get().replace(b"\r\n", b"\n"),), BAD, KEPT_200),
    Case("a folded field", "U8", (get("X: a\r\n b"),), BAD),
    Case("a zero byte in a field", "U8", (get("X: a\0b"),), BAD),
    Case("a space in a field's name", "U8", (get("X y: a"),), BAD),
    Case("a field without a colon", "U8", (get("nonsense"),), BAD, KEPT_200),
    Case("HTTP/0.9", "U8", (b"GET /livez\r\n\r\n",), BAD, "a body without a header; closed"),
    Case("HTTP/2 preface", "U8", (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",), BAD),
    Case("HTTP/9.9", "U8", (get(version="9.9"),), BAD),
    Case("TLS on a plain port", "U8", (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 32,), BAD),
    Case("garbage", "U8", (b"\xff\xfe\xfd\r\n\r\n",), BAD),
    Case(
        "a request hidden in the body of one with an upgrade",
        "U8",
        (sized(get(), "Connection: Upgrade", "Upgrade: websocket"),),
        NOT_AN_IMAGE,
        CLOSED_NOT_AN_IMAGE,
    ),
    Case(
        "a request hidden behind a body",
        "U8",
        (sized(b"hello") + b"X" + get(),),
        CLOSED_NOT_AN_IMAGE,
    ),
)

NAMES = (
    Case("Host with a path, query or fragment", "U9", (get(host="a/v1/ocr?x#y"),), BAD),
    Case("Host with a user name", "U9", (get(host="b@a"),), BAD, BAD_KEPT),
    Case("Host with a port that is no number", "U9", (get(host="a:b"),), BAD, KEPT_200),
    Case("an absolute address, with another Host", "U9", (get(path="http://b/livez"),), KEPT_200),
    Case(
        "the address of a guarded path, encoded",
        "U9",
        (post("Content-Length: 5", body=b"hello", path="/v1/%6fcr"),),
        NOT_AN_IMAGE,
        CLOSED_NOT_AN_IMAGE,
    ),
    Case("two slashes", "U9", (get(path="//livez"),), "404 not_found; kept"),
    Case("dots in the path", "U9", (get(path="/v1/../livez"),), "404 not_found; kept"),
    Case("a zero byte in the path, encoded", "U9", (get(path="/livez%00"),), "404 not_found; kept", BAD),
    Case(
        "X-Forwarded-Host, X-Original-URL",
        "U9",
        (get("X-Forwarded-Host: b", "X-Original-URL: /metrics", "X-Rewrite-URL: /metrics"),),
        KEPT_200,
    ),
    Case("CONNECT", "U9", (b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",), BAD),
    Case(
        "TRACE",
        "U9",
        (b"TRACE /livez HTTP/1.1\r\nHost: a\r\n\r\n",),
        "405 method_not_allowed; kept",
        "405 method_not_allowed; closed",
    ),
    Case("a method that does not exist", "U9", (b"BREW /livez HTTP/1.1\r\nHost: a\r\n\r\n",), BAD, BAD_KEPT),
    Case("metrics from outside", "U12", (get(path="/metrics"),), KEPT_200, "404 not_found; closed"),
)

SIZES = (
    Case("a header of 17 kB", "U8", (get("X: " + "x" * 17_000),), LARGE_HEADER),
    Case("a header of 1 MB", "U8", (get("X: " + "x" * 1_000_000),), LARGE_HEADER),
    Case("a header of 1,000 fields", "U8", (get(*["X: " + "x" * 20] * 1000),), LARGE_HEADER),
    Case("a path of 17 kB", "U8", (get(path="/" + "x" * 17_000),), LARGE_HEADER),
    Case(
        "a header that never ends",
        "U8",
        (b"GET /livez HTTP/1.1\r\nHost: a\r\n", Trickle(b"X: " + b"x" * 500 + b"\r\n", 0)),
        LARGE_HEADER,
    ),
    Case(
        "a declared body over the limit, not a byte of it sent",
        "U1",
        (post(f"Content-Length: {MAX_BODY_BYTES + 1}"),),
        TOO_LARGE,
    ),
    Case("the same, all of it sent", "U1", (sized(b"x" * (MAX_BODY_BYTES + 1)),), TOO_LARGE),
    Case(
        "the same with 100-continue",
        "U1",
        (post(f"Content-Length: {MAX_BODY_BYTES + 1}", "Expect: 100-continue"),),
        TOO_LARGE,
    ),
    Case(
        "a body in chunks that goes over the limit",
        "U1",
        (chunked(b""), Trickle(b"3e8\r\n" + b"x" * 1000 + b"\r\n", 0)),
        TOO_LARGE,
    ),
)

SLOW = (
    Case("connects and is silent", "U6", (), CLOSED),
    Case("sends empty lines only", "U6", (Trickle(b"\r\n"),), CLOSED),
    Case(
        "sends its header byte by byte",
        "U6",
        (b"GET /livez HTTP/1.1\r\n", Trickle(b"X")),
        "408 header_timeout; closed",
        CLOSED,
    ),
    Case("stalls in its header", "U6", (b"GET /livez HTTP/1.1\r\nHost:",), "408 header_timeout; closed", CLOSED),
    Case(
        "stalls in the header of its second request",
        "U6",
        (get(), Pause(0.1), b"GET /", Pause(1.5)),
        "200, 408 header_timeout; closed",
        "200; closed",
    ),
    Case("stalls in its body", "U6", (post("Content-Length: 500", body=b"x"),), "408 body_timeout; closed"),
    Case("sends its body byte by byte", "U6", (post("Content-Length: 500"), Trickle(b"x")), "408 body_timeout; closed"),
    Case("sends chunks byte by byte", "U6", (chunked(b""), Trickle(b"1\r\nx\r\n")), "408 body_timeout; closed"),
    Case("does nothing after its answer", "U6", (get(), Pause(3)), "200; closed"),
)

BOMBS = (
    Case(
        "a form of 800 parts",
        "U7",
        (form(b"--b\r\nContent-Disposition: form-data; name=x\r\n\r\n\r\n" * 800),),
        BAD_KEPT,
        BAD,
    ),
    Case(
        "a part with a header of 40 kB",
        "U7",
        (form(FILE_PART + b"X: " + b"x" * 40_000 + b"\r\n\r\nx\r\n--b--\r\n"),),
        BAD_KEPT,
        BAD,
    ),
    Case(
        "a part with 1,000 fields", "U7", (form(FILE_PART + b"X: x\r\n" * 1000 + b"\r\nx\r\n--b--\r\n"),), BAD_KEPT, BAD
    ),
    Case("a form that does not end", "U7", (form(FILE_PART + b"\r\nx"),), BAD_KEPT, BAD),
    Case(
        "a boundary of 10 kB",
        "U7",
        (sized(b"x", "Content-Type: multipart/form-data; boundary=" + "b" * 10_000),),
        BAD,
        LARGE_HEADER,
    ),
    Case("a form without a boundary", "U7", (sized(b"x", "Content-Type: multipart/form-data"),), BAD),
    Case("JSON of many lists", "U7", (sized(b"[" * 40_000, "Content-Type: application/json"),), BAD_KEPT, BAD),
)

CASES = (*WELL_FORMED, *FRAMING, *NAMES, *SIZES, *SLOW, *BOMBS)
