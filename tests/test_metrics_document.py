"""docs/metrics.md names every instrument, with its type and labels."""

import re
from pathlib import Path

from prometheus_client.metrics import MetricWrapperBase

from gateway import metrics

DOCUMENT = Path(__file__).parents[1] / "docs" / "metrics.md"


def instruments():
    """Name, type and labels of every instrument in gateway.metrics."""
    found = [value for value in vars(metrics).values() if isinstance(value, MetricWrapperBase)]
    return {
        (one._name + ("_total" if one._type == "counter" else ""), one._type, ", ".join(one._labelnames))
        for one in found
    }


def documented():
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|(.*?)\|", DOCUMENT.read_text(), re.MULTILINE)
    return {(name, kind, labels.strip()) for name, kind, labels in rows}


def test_every_instrument_is_documented_with_its_type_and_labels_and_no_other():
    assert documented() == instruments()
