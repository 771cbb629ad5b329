"""Admission: whether a request is taken, decided from its headers, before any of its body is read.

The order is the cheapest first: who asks, what they may do, whether the models answer at all, the declared length; then
a slot and pixels from the gate. A refused request costs no reading: it is answered, and its connection closed.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from starlette.datastructures import Headers, QueryParams
from starlette.types import Scope

from gateway import metrics
from gateway.errors import BackendUnavailable, OcrError, Overloaded, RateLimited
from gateway.web.body import check_declared
from gateway.web.clients import ApiClient, Clients, priority_of
from gateway.web.gate import Gate
from gateway.web.permits import Permit, Permits
from gateway.web.record import RequestRecord
from gateway.web.services import RequestLimits
from gateway.web.tickets import Priority

PIXELS_PER_BYTE = 3
"""Of an image that has not been read: photographs have three, scanned pages five in the median, drawings hundreds."""

SHARE_QUEUED = 0.5
"""Of a request's time, that it may have waited until its connection was taken. Most clients are gone by then."""

LEAST_QUEUED_S = 0.1
"""What is no wait, however little time a request has."""

UNDECLARED_BYTES = 1_000_000
"""What a body that does not declare its length is taken for."""


@dataclass(frozen=True, slots=True)
class Door:
    """What admission needs to know of the service.

    Attributes:
        paths: POST requests to these are work, and need a permit.
        limits: of one request.
        max_pixels: that one image may have.
        outage: why no request can be answered at the moment; empty if they can.
        wait_for_return: waits if an outage may be about to end.
    """

    paths: frozenset[str]
    limits: RequestLimits
    max_pixels: int
    outage: Callable[[], str]
    wait_for_return: Callable[[], Awaitable[None]]


class Admission:
    """Takes requests or refuses them; one for the whole service."""

    def __init__(self, door: Door, gate: Gate, clients: Clients) -> None:
        self._door = door
        self._permits = Permits(gate)
        self._clients = clients
        _show(gate, door.limits.timeout_s)

    def guards(self, scope: Scope) -> bool:
        """Whether a request needs a permit."""
        return scope["method"] == "POST" and scope["path"] in self._door.paths

    async def admit(self, scope: Scope, record: RequestRecord) -> Permit:
        """A permit for a request.

        Raises:
            Unauthenticated, Forbidden, RateLimited: its client may not, or not now.
            BackendUnavailable: nobody would be answered.
            InvalidRequest, BodyTooLarge: its headers say enough.
            Overloaded: there was no room in time.
        """
        headers, timeout_s = Headers(scope=scope), self._timeout_s(scope)
        try:
            self._check_age(record, timeout_s)
            priority = self._check_client(headers, record)
            await self._check_outage(record.arrived_at + timeout_s)
            declared = check_declared(headers, max_bytes=self._door.limits.max_body_bytes)
        except OcrError as error:
            metrics.REFUSED.labels(error.code).inc()
            raise
        return await self._permits.acquire(pixels=self._guess(declared), priority=priority, timeout_s=timeout_s)

    def _check_age(self, record: RequestRecord, timeout_s: float) -> None:
        age_s = time.monotonic() - record.arrived_at
        if age_s > max(LEAST_QUEUED_S, SHARE_QUEUED * timeout_s):
            raise Overloaded(f"the connection had to wait {age_s:.1f} s until it was taken")

    def _check_client(self, headers: Headers, record: RequestRecord) -> Priority:
        client = self._clients.identify(headers)
        record.client = client.name
        priority = priority_of(headers, client)
        self._charge(client, record)
        return priority

    def _charge(self, client: ApiClient, record: RequestRecord) -> None:
        bucket = self._clients.bucket_of(client)
        if bucket is None:
            return
        wait_s = bucket.take(time.monotonic())
        record.fields.update(bucket.headers())
        if wait_s:
            quota = f"{client.requests_per_minute:g} requests a minute"
            raise RateLimited(f"the quota of {client.name} is {quota}; wait {wait_s:.1f} s", retry_after_s=wait_s)

    async def _check_outage(self, give_up_at: float) -> None:
        if self._door.outage():
            with suppress(TimeoutError):
                async with asyncio.timeout(give_up_at - time.monotonic()):
                    await self._door.wait_for_return()
        if reason := self._door.outage():
            raise BackendUnavailable(reason)

    def _guess(self, declared: int | None) -> int:
        length = UNDECLARED_BYTES if declared is None else declared
        return min(self._door.max_pixels, PIXELS_PER_BYTE * length)

    def _timeout_s(self, scope: Scope) -> float:
        """The request's timeout as far as it is known; a bad one is refused later, with words."""
        limits = self._door.limits
        try:
            asked = float(QueryParams(scope["query_string"]).get("timeout", limits.timeout_s))
        except ValueError:
            return limits.timeout_s
        return asked if 0 < asked <= limits.max_timeout_s else limits.timeout_s


def _show(gate: Gate, timeout_s: float) -> None:
    """Let the instruments read the gate when they are asked."""
    metrics.SLOTS.set_function(lambda: gate.slots(timeout_s))
    metrics.SLOTS_IN_USE.set_function(lambda: gate.slots_in_use)
    metrics.PIXELS_IN_USE.set_function(lambda: gate.pixels_in_use)
    metrics.PIXELS_LIMIT.set_function(lambda: gate.most_pixels)
    metrics.PARKED_BYTES.set_function(lambda: gate.parked_bytes)
    metrics.UPLOADS_PARKED.set_function(lambda: gate.parked)
    metrics.WAITING.labels("settling").set_function(lambda: gate.settling)
    for priority in Priority:
        metrics.WAITING.labels(priority).set_function(partial(gate.waiting, priority))
