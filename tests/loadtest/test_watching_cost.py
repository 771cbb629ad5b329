"""What watching costs: ratios are of the same repetition, and a scrape is told in pages."""

import httpx

from loadtest.accuracy.circumstances import Circumstances
from loadtest.watching.__main__ import describe
from loadtest.watching.measure import BARE, WAYS, Costs, collector


def test_the_report_has_the_ratio_and_says_a_scrape_in_pages_and_cores():
    costs = Costs(
        {BARE: [10.0, 20.0, 30.0], "traced": [11.0, 22.0, 33.0]},
        {BARE: [1.0, 1.0, 1.0], "traced": [1.1, 1.1, 1.1]},
        [3.0, 3.0, 3.0],
        series=1234,
    )
    text = describe(costs, Circumstances("make x", "2026-12-01", {"gateway": "1"}, "", "a machine"))
    assert "| traced | 22.0 (11.0-33.0) | 1.100 (1.100-1.100) |" in text
    assert "A scrape of 1,234 samples takes 3.0 (3.0-3.0) ms, as much as 0.15 pages" in text
    assert "every 15 s that is 0.020% of a core" in text


def test_ways_differ_in_traces_alone():
    assert WAYS[BARE] == {}
    assert {own["OTEL_TRACES_SAMPLER_ARG"] for own in WAYS.values() if own} == {"0.1", "1"}


def test_what_is_sent_is_counted():
    with collector() as (settings, sent):
        for _ in range(2):
            httpx.post(settings["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces", content=b"x", trust_env=False)
    assert len(sent) == 2
