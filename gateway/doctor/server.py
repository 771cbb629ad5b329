"""What a Triton is by itself: its version, and whether it puts up with the gateway's pings."""

import asyncio
import re
from collections.abc import Sequence

import grpc
from tritonclient.grpc.service_pb2 import ServerMetadataRequest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from gateway.doctor.connections import PREFACE, connect
from gateway.doctor.exposure import is_exposed
from gateway.doctor.findings import Verdict, error, fine, unknown, warning
from gateway.doctor.targets import CALL_S, TritonTarget
from gateway.inference.channels import ChannelOptions
from gateway.inference.failures import translated

TRIED_FROM = (2, 51)
"""The oldest version that this service was ever tried on (24.10)."""
FIXED_FROM = (2, 68)
"""The oldest version without a known hole that matters here: 26.04, as `tests/ops/test_deployed_versions.py` has it."""

QUICK_S = 0.3
"""Pings are tried at this pace first, which the servers of deploy/ allow; it takes a second and a half."""
TRIED_PINGS = 5
"""A server's default is to break off at the third that comes too early; the first never does."""
WATCHED_INTERVALS = TRIED_PINGS + 2
"""So long a call is watched that is to be broken off: pings are a little late, and so is the answer."""
PING = bytes((0, 0, 8, 6, 0, 0, 0, 0, 0)) + bytes(8)
"""A frame of HTTP/2 (RFC 9113, 6.7)."""
TOO_MANY = "too many pings"
"""gRPC's words; those that it sends have underscores."""
PING_FLAGS = (
    "start Triton with --grpc-http2-min-recv-ping-interval-without-data=250 --grpc-http2-max-ping-strikes=0 "
    "--grpc-keepalive-permit-without-calls=1"
)


async def check_version(target: TritonTarget) -> Sequence[Verdict]:
    """Whether it is Triton, and a version without known holes where others can reach it."""
    async with target.connection() as connection:
        with translated("version"):
            answer = await connection.stub.ServerMetadata(ServerMetadataRequest(), timeout=CALL_S)
    version = tuple(int(number) for number in re.findall(r"\d+", answer.version)[:2])
    if answer.name != "triton":
        return error(f"it is not Triton, but {answer.name!r}", "correct the address", answer.version)
    if version < TRIED_FROM:
        return warning(f"Triton {answer.version} is older than any that was tried", "take 26.04 (2.68) or newer")
    if version < FIXED_FROM:
        return _unfixed(answer.version, exposed=is_exposed(target.host, target.port))
    return fine(f"Triton {answer.version}")


def _unfixed(version: str, *, exposed: bool) -> Sequence[Verdict]:
    if exposed:
        return warning(f"Triton {version} has known holes, and others can reach it", "take 26.04 (2.68) or newer")
    return fine(f"Triton {version}, older than the fixes of 26.04, but only this machine reaches it")


async def check_keepalive(target: TritonTarget) -> Sequence[Verdict]:
    """Whether it keeps connections that are pinged as often as the gateway does while a call is under way."""
    if await allows_pings(target, QUICK_S):
        return fine(f"it allows a ping every {QUICK_S:g} s, without calls, too")
    pace_s = ChannelOptions().keepalive_s
    words = await ping(target, pace_s)
    if not words:
        return fine(f"it allows a ping every {pace_s:g} s during calls")
    if TOO_MANY in words.lower():
        return warning(f"it breaks off connections that are pinged every {pace_s:g} s", PING_FLAGS, words)
    return unknown("a call without data was broken off", "look into Triton's log", words)


async def allows_pings(target: TritonTarget, interval_s: float) -> bool:
    """Whether a connection without calls may be pinged at this pace. gRPC itself never pings so often."""
    reader, writer = await connect(target)
    try:
        writer.write(PREFACE)
        for _ in range(TRIED_PINGS):
            writer.write(PING)
            await asyncio.sleep(interval_s)
        async with asyncio.timeout(QUICK_S):
            return TOO_MANY.replace(" ", "_").encode() not in await reader.read(4096)
    except (ConnectionError, TimeoutError):
        return False
    finally:
        writer.transport.abort()


async def ping(target: TritonTarget, interval_s: float) -> str:
    """Ping during a call in which nothing else happens; empty if that goes well, else why it was broken off."""
    # By default gRPC itself leaves out pings when nothing is sent; the server shall see them all.
    arguments = (*ChannelOptions(keepalive_s=interval_s).arguments(), ("grpc.http2.max_pings_without_data", 0))
    async with _channel(target, arguments) as channel:
        call = GRPCInferenceServiceStub(channel).ModelStreamInfer(timeout=2 * WATCHED_INTERVALS * interval_s)
        try:
            async with asyncio.timeout(WATCHED_INTERVALS * interval_s):
                await call.read()
        except TimeoutError:
            return ""
        except grpc.aio.AioRpcError as failure:
            return failure.details() or failure.code().name
        finally:
            call.cancel()
    return "the server ended the call"


def _channel(target: TritonTarget, arguments: Sequence[tuple[str, int]]) -> grpc.aio.Channel:
    if target.tls is None:
        return grpc.aio.insecure_channel(target.address, arguments)
    tls = target.tls.read()
    return grpc.aio.secure_channel(target.address, tls.credentials(), (*arguments, *tls.arguments()))
