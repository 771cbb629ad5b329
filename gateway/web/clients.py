"""Who calls: API keys, and what the client behind each may do.

The service knows keys by their SHA-256 alone. That is enough where keys are long and random, unlike passwords.
"""

import hashlib
import hmac
from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from starlette.datastructures import Headers

from gateway.errors import Forbidden, InvalidRequest, Unauthenticated
from gateway.web.quotas import Quota, TokenBucket
from gateway.web.tickets import Priority

_SCHEME = "bearer "
_BURST_S = 10.0
"""A client that names no burst may come at once as often as in this time."""

Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


class ApiClient(BaseModel):
    """One client, as an operator describes it.

    Attributes:
        name: for logs.
        key_sha256: of its key, in hex; of two keys while one replaces the other.
        priority: the highest that it may ask for, and the one it has when it does not ask.
        requests_per_minute: its quota; without one it has none.
        burst: how many requests may come at once.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, StringConstraints(pattern="^[A-Za-z0-9_.-]{1,64}$")]
    key_sha256: tuple[Sha256, ...] = Field(min_length=1, max_length=2)
    priority: Priority = Priority.INTERACTIVE
    requests_per_minute: float | None = Field(None, gt=0)
    burst: int | None = Field(None, ge=1)

    @model_validator(mode="after")
    def _burst_of_a_quota(self) -> Self:
        if self.burst is not None and self.requests_per_minute is None:
            raise ValueError(f"client {self.name} has a burst, but no requests_per_minute")
        return self

    def quota(self) -> Quota | None:
        """Its quota, with the burst that it has if none is named."""
        if self.requests_per_minute is None:
            return None
        return Quota(self.requests_per_minute, self.burst or max(1, round(self.requests_per_minute * _BURST_S / 60)))


def _distinct(clients: tuple[ApiClient, ...]) -> tuple[ApiClient, ...]:
    for values in ([client.name for client in clients], [key for client in clients for key in client.key_sha256]):
        if len(set(values)) < len(values):
            raise ValueError("two clients have the same name or key")
    return clients


ApiClients = Annotated[tuple[ApiClient, ...], AfterValidator(_distinct)]
"""All of them, as a setting."""

ANONYMOUS = ApiClient(name="anonymous", key_sha256=("0" * 64,))
"""Everybody, where there are no keys."""


class Clients:
    """All clients, with their buckets; without any, everybody is welcome and has no quota."""

    def __init__(self, clients: Iterable[ApiClient]) -> None:
        self._by_hash = [(key.encode(), client) for client in clients for key in client.key_sha256]
        quotas = {client.name: client.quota() for _, client in self._by_hash}
        self._buckets = {name: TokenBucket(quota) for name, quota in quotas.items() if quota}

    def identify(self, headers: Headers) -> ApiClient:
        """The client that sends these headers.

        Raises:
            Unauthenticated: there is no key in them, or none that is known.
        """
        if not self._by_hash:
            return ANONYMOUS
        key = _key_in(headers)
        if not key:
            raise Unauthenticated("send your API key, as in: Authorization: Bearer KEY")
        digest = hashlib.sha256(key.encode()).hexdigest().encode()
        # All are compared, so that the time tells nothing.
        known = [client for own, client in self._by_hash if hmac.compare_digest(own, digest)]
        if not known:
            raise Unauthenticated("the API key is not known here; it may have been replaced")
        return known[0]

    def bucket_of(self, client: ApiClient) -> TokenBucket | None:
        """The bucket of a client with a quota."""
        return self._buckets.get(client.name)


def priority_of(headers: Headers, client: ApiClient) -> Priority:
    """The priority of a request: the one it asks for in X-Priority, or the client's.

    Raises:
        InvalidRequest: there is no such priority.
        Forbidden: the client may not have it.
    """
    asked = headers.get("x-priority", client.priority)
    if asked not in list(Priority):
        raise InvalidRequest(f"X-Priority must be {' or '.join(Priority)}")
    if client.priority is Priority.BATCH and asked != Priority.BATCH:
        raise Forbidden(f"the client {client.name} may only send batch requests; leave X-Priority out")
    return Priority(asked)


def _key_in(headers: Headers) -> str:
    authorization = headers.get("authorization", "")
    if authorization[: len(_SCHEME)].lower() == _SCHEME:
        return authorization[len(_SCHEME) :].strip()
    return headers.get("x-api-key", "")
