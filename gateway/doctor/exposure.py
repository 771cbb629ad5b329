"""Who can reach what only the service and its operators should."""

import ipaddress
import re
import socket
from collections.abc import Sequence
from pathlib import Path

import grpc
import httpx
from tritonclient.grpc.service_pb2 import (
    LogSettingsRequest,
    RepositoryIndexRequest,
    SystemSharedMemoryStatusRequest,
    TraceSettingRequest,
)

from gateway.doctor.findings import Verdict, fine, unknown, warning
from gateway.doctor.targets import CALL_S, MachineTarget, TritonTarget, WebTarget

LISTENS = "0A"
"""State of a socket that listens, in /proc/net/tcp."""

OPERATORS_PAGES = ("/metrics", "/docs")
ADMIN_PAGES = (
    ("model-repository", "POST", "/v2/repository/index"),
    ("shared-memory", "GET", "/v2/systemsharedmemory/status"),
    ("logging", "GET", "/v2/logging"),
)
"""What reads of each protocol of administration over HTTP, and changes nothing."""

RESTRICT = "start Triton with --grpc-restricted-protocol and --http-restricted-api, as deploy/ does, and guard the key"
BIND = "start it with --{what}-address=127.0.0.1, or the address of an inner network"


async def check_management(target: TritonTarget) -> Sequence[Verdict]:
    """Whether models, shared memory, log and traces can be managed without a key, over gRPC."""
    async with target.connection() as connection:
        stub = connection.stub
        questions = {
            "model-repository": stub.RepositoryIndex(RepositoryIndexRequest(), timeout=CALL_S),
            "shared-memory": stub.SystemSharedMemoryStatus(SystemSharedMemoryStatusRequest(), timeout=CALL_S),
            "logging": stub.LogSettings(LogSettingsRequest(), timeout=CALL_S),
            "trace": stub.TraceSetting(TraceSettingRequest(), timeout=CALL_S),
        }
        unguarded = [name for name, call in questions.items() if await _is_answered(call)]
    return _open_protocols(unguarded, target.host, target.port)


async def check_http_management(target: WebTarget) -> Sequence[Verdict]:
    """The same over HTTP."""
    try:
        async with target.client() as client:
            answers = [(name, await client.request(method, path)) for name, method, path in ADMIN_PAGES]
    except httpx.TransportError:
        if target.guessed:
            return fine("it has no HTTP API at the usual port")
        raise
    return _open_protocols([name for name, answer in answers if answer.is_success], target.host, target.port)


async def check_operators_pages(target: WebTarget) -> Sequence[Verdict]:
    """Whether clients of the gateway get its metrics and documents."""
    async with target.client() as client:
        shown = [page for page in OPERATORS_PAGES if (await client.get(page)).is_success]
    if not shown:
        return fine("metrics and documents are not where clients are")
    if not is_exposed(target.host, target.port):
        return fine(f"{', '.join(shown)} can be read on this machine alone")
    return warning(
        f"whoever reaches the gateway can read {' and '.join(shown)}", "set OCR_OPS_PORT, or a proxy in front"
    )


async def check_ports(target: MachineTarget) -> Sequence[Verdict]:
    """Whether Triton's ports of this machine listen for others, too."""
    if not target.ports:
        return fine("no Triton on this machine is known")
    listeners = listening(target.proc)
    if not listeners:
        return unknown("the kernel does not tell who listens", "look with `ss -ltn`")
    verdicts: list[Verdict] = []
    for what, port in target.ports:
        outside = [host for host, at in listeners if at == port and not is_loopback(host)]
        if outside:
            verdicts += warning(
                f"Triton's {what} port {port} listens on {', '.join(outside)}", BIND.format(what=what), f"port {port}"
            )
    return verdicts or fine("Triton's ports listen on the loopback interface alone")


def is_exposed(host: str, port: int, proc: Path = Path("/proc")) -> bool:
    """Whether others than this machine may reach an address: it is not of the loopback interface, or not only."""
    if not is_loopback(host):
        return True
    return any(at == port and not is_loopback(listener) for listener, at in listening(proc))


def listening(proc: Path) -> list[tuple[str, int]]:
    """Address and port of every TCP socket of this network namespace that listens."""
    found: list[tuple[str, int]] = []
    for name in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / name).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == LISTENS:
                host, _, port = fields[1].partition(":")
                found.append((_numeric(host), int(port, 16)))
    return sorted(set(found))


def _numeric(text: str) -> str:
    """An address as the kernel writes it: words of four bytes, each in the machine's own order."""
    words = [bytes.fromhex(word)[::-1] for word in re.findall("." * 8, text)]
    return str(ipaddress.ip_address(b"".join(words)))


def is_loopback(host: str) -> bool:
    """Whether an address, or all that a name has, is of the loopback interface."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return _all_loopback(host)
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _all_loopback(name: str) -> bool:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return all(ipaddress.ip_address(str(where[0])).is_loopback for _, _, _, _, where in found)


async def _is_answered(call: "grpc.aio.UnaryUnaryCall[object, object]") -> bool:
    try:
        await call
    except grpc.aio.AioRpcError:
        return False
    return True


def _open_protocols(unguarded: Sequence[str], host: str, port: int) -> Sequence[Verdict]:
    if not unguarded:
        return fine("administration wants a key")
    if not is_exposed(host, port):
        return fine(f"{', '.join(unguarded)} want no key, but only this machine reaches the port")
    return warning(f"whoever reaches port {port} may use {', '.join(unguarded)}", RESTRICT)
