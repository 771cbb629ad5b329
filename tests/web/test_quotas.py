import pytest

from gateway.web.quotas import Quota, TokenBucket

QUOTA = Quota(requests_per_minute=60, burst=3)


def test_a_new_bucket_is_full():
    bucket = TokenBucket(QUOTA)
    assert [bucket.take(100.0) for _ in range(4)] == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(("pause_s", "taken"), [(0.0, 0), (0.9, 0), (1.0, 1), (2.5, 2), (1000.0, 3)])
def test_tokens_come_back_at_the_rate_of_the_quota_up_to_the_burst(pause_s, taken):
    bucket = TokenBucket(QUOTA)
    while not bucket.take(0.0):
        pass
    assert [bucket.take(pause_s) for _ in range(4)].count(0.0) == taken


def test_a_request_that_is_refused_is_told_when_to_come_back_and_then_taken():
    bucket = TokenBucket(QUOTA)
    while not (wait_s := bucket.take(10.25)):
        pass
    assert bucket.take(10.25 + wait_s / 2) == pytest.approx(wait_s / 2)
    assert bucket.take(10.25 + wait_s) == 0.0


def test_the_headers_say_quota_window_rest_and_when_it_is_whole_again():
    bucket = TokenBucket(Quota(requests_per_minute=30, burst=5))
    bucket.take(0.0)
    bucket.take(0.0)
    assert bucket.headers() == {"RateLimit-Policy": '"requests";q=5;w=10', "RateLimit": '"requests";r=3;t=4'}
