from hashlib import sha256

import pytest
from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import Headers

from gateway.errors import Forbidden, InvalidRequest, Unauthenticated
from gateway.web.clients import ApiClient, ApiClients, Clients, priority_of
from gateway.web.quotas import Quota
from gateway.web.tickets import Priority


def client(name="team", *keys, **choices):
    return ApiClient(name=name, key_sha256=tuple(sha256(key.encode()).hexdigest() for key in keys or ("k",)), **choices)


CLIENTS = Clients([client("old-and-new", "old", "new"), client("other", "third")])


def test_without_clients_everybody_is_welcome():
    assert Clients([]).identify(Headers({})).name == "anonymous"
    assert Clients([]).bucket_of(Clients([]).identify(Headers({}))) is None


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({"authorization": "Bearer old"}, "old-and-new"),
        ({"authorization": "bearer  new "}, "old-and-new"),
        ({"x-api-key": "third"}, "other"),
        ({"authorization": "Basic eDp5", "x-api-key": "third"}, "other"),
    ],
)
def test_a_client_is_known_by_any_of_its_keys_in_either_header(headers, name):
    assert CLIENTS.identify(Headers(headers)).name == name


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer "}, {"authorization": "old"}, {"x-api-key": ""}])
def test_a_request_without_a_key_is_told_how_to_send_one(headers):
    with pytest.raises(Unauthenticated, match="Authorization: Bearer KEY"):
        CLIENTS.identify(Headers(headers))


@pytest.mark.parametrize("key", ["wrong", "ol", "old2", "OLD", "é", sha256(b"old").hexdigest()])
def test_a_wrong_key_is_not_taken_not_even_the_hash_of_a_right_one(key):
    with pytest.raises(Unauthenticated, match="not known"):
        CLIENTS.identify(Headers(raw=[(b"x-api-key", key.encode("latin-1"))]))


@pytest.mark.parametrize(
    ("own", "asked", "priority"),
    [
        ("interactive", None, Priority.INTERACTIVE),
        ("interactive", "interactive", Priority.INTERACTIVE),
        ("interactive", "batch", Priority.BATCH),
        ("batch", None, Priority.BATCH),
        ("batch", "batch", Priority.BATCH),
    ],
)
def test_the_priority_is_the_one_asked_for_or_the_clients(own, asked, priority):
    headers = Headers({"x-priority": asked} if asked else {})
    assert priority_of(headers, client(priority=own)) is priority


def test_a_batch_client_may_not_ask_for_more():
    with pytest.raises(Forbidden, match="team may only send batch requests"):
        priority_of(Headers({"x-priority": "interactive"}), client(priority="batch"))


@pytest.mark.parametrize("asked", ["", "urgent", "Batch"])
def test_any_other_priority_is_refused(asked):
    with pytest.raises(InvalidRequest, match="X-Priority must be interactive or batch"):
        priority_of(Headers({"x-priority": asked}), client())


@pytest.mark.parametrize(
    ("choices", "quota"),
    [
        ({}, None),
        ({"requests_per_minute": 60}, Quota(60, 10)),
        ({"requests_per_minute": 1}, Quota(1, 1)),
        ({"requests_per_minute": 60, "burst": 25}, Quota(60, 25)),
    ],
)
def test_a_quota_without_a_burst_allows_as_many_at_once_as_in_ten_seconds(choices, quota):
    assert client(**choices).quota() == quota


def test_each_client_has_a_bucket_of_its_own_whichever_key_it_uses():
    clients = Clients([client("a", "1", "2", requests_per_minute=60), client("b", "3", requests_per_minute=60)])
    buckets = [clients.bucket_of(clients.identify(Headers({"x-api-key": key}))) for key in "123"]
    assert buckets[0] is buckets[1]
    assert buckets[0] is not buckets[2]


HASH = "a" * 64


@pytest.mark.parametrize(
    ("described", "fault"),
    [
        ([{"name": "a"}], "key_sha256"),
        ([{"name": "a", "key_sha256": []}], "at least 1"),
        ([{"name": "a", "key_sha256": [HASH, "b" * 64, "c" * 64]}], "at most 2"),
        ([{"name": "a", "key_sha256": ["secret"]}], "pattern"),
        ([{"name": "a b", "key_sha256": [HASH]}], "pattern"),
        ([{"name": "a", "key_sha256": [HASH], "prioritee": "batch"}], "Extra inputs"),
        ([{"name": "a", "key_sha256": [HASH], "requests_per_minute": 0}], "greater than 0"),
        ([{"name": "a", "key_sha256": [HASH], "burst": 3}], "no requests_per_minute"),
        ([{"name": "a", "key_sha256": [HASH]}, {"name": "a", "key_sha256": ["b" * 64]}], "same name or key"),
        ([{"name": "a", "key_sha256": [HASH]}, {"name": "b", "key_sha256": [HASH]}], "same name or key"),
    ],
)
def test_a_badly_described_client_is_refused(described, fault):
    with pytest.raises(ValidationError, match=fault):
        TypeAdapter(ApiClients).validate_python(described)
