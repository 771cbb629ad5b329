"""Whether a gateway is there, says the truth about itself, and fits the rest."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import httpx

from gateway import __version__
from gateway.canary import KNOWN_PICTURE, KNOWN_TEXT
from gateway.doctor.connections import reach
from gateway.doctor.findings import Verdict, error, fine, unknown, warning
from gateway.doctor.targets import WebTarget

SKEW_S = 2.0
"""More than a slow answer and the header's whole seconds explain."""
READING_S = 20.0
"""How long the known picture may take on a busy gateway."""

HANGS = "it stands still: let whatever started it kill it (operations, A gateway that is killed or stands still)"
SERVING = "serving"


async def check_address(target: WebTarget) -> Sequence[Verdict]:
    """Whether anybody listens."""
    return await reach(target.host, target.port, "the address (--gateway)")


async def check_alive(target: WebTarget) -> Sequence[Verdict]:
    """Whether a gateway answers, and not something else."""
    try:
        async with target.client() as client:
            answer = await client.get("/livez")
    except httpx.TimeoutException as failure:
        return error("it takes connections and does not answer", HANGS, type(failure).__name__)
    except httpx.RemoteProtocolError as failure:
        do = "correct the address: Triton's gRPC port speaks HTTP/2, and an encrypted port wants https://"
        return error(f"port {target.port} does not speak HTTP/1.1", do, str(failure))
    except httpx.TransportError as failure:
        do = "https:// is for a port that is encrypted, with a certificate that this machine trusts"
        return error("no connection that HTTP could use", do, str(failure))
    if answer.status_code != HTTPStatus.OK or _body(answer).get("status") != "alive":
        do = "correct the address: that is no OCR gateway, or a proxy that can't reach one"
        return error(f"/livez is answered {answer.status_code}", do, answer.text[:120])
    return fine("it answers")


async def check_clock(target: WebTarget) -> Sequence[Verdict]:
    """Whether its clock and this machine's agree: deadlines do not need it, but logs, certificates and alerts do."""
    async with target.client() as client:
        asked_at = datetime.now(UTC)
        answer = await client.get("/livez")
        answered_at = datetime.now(UTC)
    if "date" not in answer.headers:
        return fine("it says no time")
    says = parsedate_to_datetime(answer.headers["date"])
    early_s = (asked_at - says).total_seconds() - 1  # the header has whole seconds
    late_s = (says - answered_at).total_seconds()
    if max(early_s, late_s) > SKEW_S:
        do = "let NTP (chrony, systemd-timesyncd) set both clocks"
        return warning(f"its clock is {max(early_s, late_s):.0f} s off this machine's", do, answer.headers["date"])
    return fine("its clock and this machine's agree")


async def check_ready(target: WebTarget) -> Sequence[Verdict]:
    """Whether it says that it is ready, and which Tritons it leaves out."""
    async with target.client() as client:
        answer = await client.get("/readyz")
    body = _body(answer)
    if body.get("code") == "draining":
        return warning("it is shutting down", "send requests to another instance; wait for it, or see OcrDrainStuck")
    if answer.status_code != HTTPStatus.OK:
        do = "mend what it names: each Triton is looked at by itself here, if --triton has its address"
        return error("it is not ready", do, str(body.get("detail", answer.text[:200])))
    return _left_out(body.get("endpoints", []))


def _left_out(endpoints: Sequence[Mapping[str, str]]) -> Sequence[Verdict]:
    out = [one for one in endpoints if one.get("state") != SERVING]
    if not out:
        return fine(f"it is ready; {len(endpoints)} Tritons serve")
    words = "; ".join(f"{one.get('address')} is {one.get('state')}: {one.get('reason')}" for one in out)
    do = "see the table of states in the operations document, Several Tritons"
    return warning(f"{len(out)} of its {len(endpoints)} Tritons get no calls", do, words)


async def check_reading(target: WebTarget) -> Sequence[Verdict]:
    """Whether the known picture is read rightly by a gateway that says that it is ready."""
    try:
        async with target.client(timeout_s=READING_S) as client:
            answer = await client.post("/v1/ocr", content=KNOWN_PICTURE, headers={"Content-Type": "image/png"})
    except httpx.TimeoutException:
        return error(f"it says that it is ready, but reads nothing within {READING_S:g} s", LIES)
    body = _body(answer)
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        return unknown("it wants an API key", "set GATEWAY_API_KEY")
    if body.get("code") in {"overloaded", "rate_limited"}:
        return warning("it refuses requests because it has too much to do", "see Too many requests (operations)")
    if answer.status_code != HTTPStatus.OK:
        return error("it says that it is ready, but can't read the known picture", LIES, str(body.get("detail", "")))
    text = body["pages"][0]["text"] if body.get("pages") else ""
    if text != KNOWN_TEXT:
        return error("it says that it is ready, but reads wrongly", LIES, f"{text!r}, not {KNOWN_TEXT!r}")
    return fine("the known picture is read correctly")


LIES = "its readiness is as old as its last look (OCR_CANARY_INTERVAL_S); look at the Tritons, and at what it names"


async def check_version(target: WebTarget) -> Sequence[Verdict]:
    """Whether it is the version that this doctor knows."""
    version = await read_version(target)
    if not version:
        return unknown("it does not say its version", "set GATEWAY_API_KEY if it wants a key")
    if version != __version__:
        return warning(f"it is version {version}, this doctor is of {__version__}", "run the doctor of its version")
    return fine(f"version {version}")


async def read_version(target: WebTarget) -> str:
    """Its version; empty if it does not say."""
    async with target.client() as client:
        return str(_body(await client.get("/v1/capabilities")).get("version", ""))


def _body(answer: httpx.Response) -> Mapping[str, Any]:
    try:
        body = answer.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
