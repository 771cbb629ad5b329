"""Whether anything can be reached at an address, what it speaks, and whose certificate it shows."""

import asyncio
import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum

from gateway.doctor.findings import Verdict, error, fine, warning
from gateway.doctor.targets import TritonTarget
from gateway.inference.channels import TlsFiles

CONNECT_S = 2.0
ANSWER_S = 3.0
SOON_DAYS = 14
"""A certificate that ends within so many days is a warning."""

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""What a client of HTTP/2 says first (RFC 9113, 3.4): the magic, and settings without any."""
SETTINGS = 4
"""Type of the frame that a server of HTTP/2 answers with, its fourth byte."""
ALERT = b"\x15\x03"
"""What a server of TLS answers to anything else (RFC 8446, 5.1)."""

EXPIRED, NOT_YET = 10, 9
UNTRUSTED = (18, 19, 20, 21)
ANOTHER_NAME = (62, 64)
"""Why OpenSSL refuses a certificate (its x509_vfy.h)."""


class Speech(StrEnum):
    """What a port speaks."""

    HTTP2 = "HTTP/2 (gRPC)"
    HTTP1 = "HTTP/1.1"
    TLS = "TLS"
    NOTHING = "nothing"
    OTHER = "something else"


async def reach(host: str, port: int, setting: str) -> Sequence[Verdict]:
    """Whether anybody listens; `setting` is where the address comes from."""
    loop = asyncio.get_running_loop()
    try:
        await loop.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except OSError as failure:
        return error(f"the name {host} has no address", f"correct {setting}, or DNS", str(failure))
    try:
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(host.strip("[]"), port)
    except TimeoutError:
        do = "see whether the host is up, and whether a firewall or NetworkPolicy drops what goes to the port"
        return error(f"{host}:{port} takes no connection within {CONNECT_S:g} s", do)
    except OSError as failure:
        do = f"start what should listen there, or correct {setting}"
        return error(f"nobody listens on {host}:{port}", do, failure.strerror or str(failure))
    await _close(writer)
    return fine(f"{host}:{port} takes connections")


async def check_address(target: TritonTarget) -> Sequence[Verdict]:
    """Whether anybody listens."""
    return await reach(target.host, target.port, "OCR_TRITON_ADDRESSES (--triton)")


async def check_protocol(target: TritonTarget) -> Sequence[Verdict]:
    """Whether the port speaks what the settings say: gRPC, plain or encrypted."""
    speech = await listen_to(target.host, target.port)
    expected = Speech.TLS if target.tls else Speech.HTTP2
    if speech is expected:
        return fine(f"it speaks {speech}")
    return error(f"port {target.port} speaks {speech}, not {expected}", WRONG_SPEECH[expected, speech])


WRONG_PORT = "this is not Triton's gRPC port (8001 by default; 8000 is HTTP, 8002 metrics): correct the address"
HANGS = "it takes connections and says nothing: it hangs, or is stopped; look at its process, and restart it"
WRONG_SPEECH: Mapping[tuple[Speech, Speech], str] = {
    (Speech.HTTP2, Speech.HTTP1): WRONG_PORT,
    (Speech.HTTP2, Speech.TLS): "give the authority that signed its certificate: OCR_TRITON_CA (--triton-ca)",
    (Speech.HTTP2, Speech.OTHER): WRONG_PORT,
    (Speech.HTTP2, Speech.NOTHING): HANGS,
    (Speech.TLS, Speech.HTTP1): WRONG_PORT,
    (Speech.TLS, Speech.HTTP2): "start Triton with --grpc-use-ssl=true and its certificate, or take OCR_TRITON_CA out",
    (Speech.TLS, Speech.OTHER): WRONG_PORT,
    (Speech.TLS, Speech.NOTHING): HANGS,
}
"""What to do, by what is expected and what is there."""


async def listen_to(host: str, port: int) -> Speech:
    """What answers on a port that takes connections."""
    answer = await exchange(host, port, PREFACE)
    if answer is None:
        return Speech.NOTHING
    if answer[3:4] == bytes((SETTINGS,)):
        return Speech.HTTP2
    if answer.startswith(b"HTTP/1"):
        return Speech.HTTP1
    if answer.startswith(ALERT) or await _shakes_hands(host, port):
        return Speech.TLS
    answer = await exchange(host, port, b"GET / HTTP/1.1\r\nHost: doctor\r\nConnection: close\r\n\r\n")
    return Speech.HTTP1 if (answer or b"").startswith(b"HTTP/1") else Speech.OTHER


async def exchange(host: str, port: int, sent: bytes) -> bytes | None:
    """The first bytes that come back; empty if the connection is closed instead, None if nothing comes in time."""
    try:
        async with asyncio.timeout(ANSWER_S):
            reader, writer = await asyncio.open_connection(host.strip("[]"), port)
            try:
                writer.write(sent)
                return await reader.read(64)
            finally:
                writer.transport.abort()
    except TimeoutError:
        return None
    except ConnectionError:
        return b""


async def _shakes_hands(host: str, port: int) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # whose certificate it is, is the next check's question
    context.set_alpn_protocols(["h2"])
    try:
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(host.strip("[]"), port, ssl=context)
    except (OSError, TimeoutError):  # ssl.SSLError is one of the former
        return False
    writer.transport.abort()
    return True


async def check_tls(target: TritonTarget) -> Sequence[Verdict]:
    """Whether Triton's certificate and the gateway's own are accepted, each by the other side."""
    if target.tls is None:
        return fine("not encrypted")
    try:
        _context(target.tls)
    except (OSError, ssl.SSLError) as failure:
        return error("a file for TLS can't be used", "correct OCR_TRITON_CA, _CERTIFICATE and _KEY", str(failure))
    try:
        return await _certificate(target)
    except ssl.SSLCertVerificationError as failure:
        return _refused(failure, target.tls.server_name or target.host)
    except (ssl.SSLError, ConnectionError) as failure:
        do = "it wants a certificate of the gateway that it trusts: OCR_TRITON_CERTIFICATE and OCR_TRITON_KEY"
        return error("Triton breaks off the encrypted connection", do, str(failure))


def _context(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=files.authorities)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # gRPC is not so strict either
    context.set_alpn_protocols(["h2"])
    if files.certificate:
        context.load_cert_chain(files.certificate, files.key)
    return context


async def connect(target: TritonTarget) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection as the gateway's, below gRPC: encrypted if it is to be; errors as of the socket and of TLS."""
    host = target.host.strip("[]")
    if target.tls is None:
        return await asyncio.open_connection(host, target.port)
    name = target.tls.server_name or host
    return await asyncio.open_connection(host, target.port, ssl=_context(target.tls), server_hostname=name)


async def _certificate(target: TritonTarget) -> Sequence[Verdict]:
    async with asyncio.timeout(CONNECT_S):
        reader, writer = await connect(target)
        try:
            ends = writer.get_extra_info("peercert").get("notAfter", "")
            writer.write(PREFACE)
            if not await reader.read(64):  # a refusal of our certificate comes after the handshake
                raise ConnectionResetError("closed after the handshake")
        finally:
            writer.transport.abort()
    return days_left(ssl.cert_time_to_seconds(ends), datetime.now(UTC).timestamp())


def days_left(ends: float, now: float) -> Sequence[Verdict]:
    """Whether a certificate is renewed in time; both are seconds since 1970."""
    days = (ends - now) / 86400
    if days < SOON_DAYS:
        return warning(f"Triton's certificate ends in {days:.0f} days", "renew it, and restart Triton")
    return fine(f"Triton's certificate is good for {days:.0f} days")


def _refused(failure: ssl.SSLCertVerificationError, name: str) -> Sequence[Verdict]:
    code, words = failure.verify_code, failure.verify_message
    if code == EXPIRED:
        return error("Triton's certificate has expired", "renew it, and restart Triton", words)
    if code == NOT_YET:
        return error("Triton's certificate is not valid yet", "look at the clocks of both machines", words)
    if code in UNTRUSTED:
        return error("Triton's certificate is of an authority that is not trusted", "correct OCR_TRITON_CA", words)
    if code in ANOTHER_NAME:
        return error(f"Triton's certificate is not for {name}", "set OCR_TRITON_SERVER_NAME to the name in it", words)
    return error("Triton's certificate is refused", "look at it: openssl s_client -connect", words)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
