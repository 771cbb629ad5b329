import pytest

from loadtest.server_timing import stage_milliseconds


@pytest.mark.parametrize(
    ("header", "stages"),
    [
        ("", {}),
        ("decode;dur=3.1, detect;dur=12", {"decode": 3.1, "detect": 12.0}),
        ('decode;desc="a, b; dur=9";dur=3.1', {"decode": 3.1}),
        ('cdn-cache;desc=HIT, decode;dur=3.1, edge;desc="x"', {"decode": 3.1}),
        ('decode ; dur = "3.5"', {"decode": 3.5}),
    ],
)
def test_stages_are_read_whatever_a_proxy_adds(header, stages):
    assert stage_milliseconds(header) == stages
