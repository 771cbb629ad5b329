"""docs/configuration.md says what the settings are."""

import re
from pathlib import Path

from gateway.settings import Settings

DOCUMENT = Path(__file__).parents[1] / "docs" / "configuration.md"


def documented():
    """Variable, default and meaning of each row of the table."""
    rows = re.findall(r"^\| `(OCR_\w+)` \| `(.*)` \| (.*) \|$", DOCUMENT.read_text(), re.MULTILINE)
    return [tuple(row) for row in rows]


def test_every_setting_is_documented_with_its_default_and_its_meaning_and_no_other():
    fields = Settings.model_fields.items()
    assert documented() == [(f"OCR_{name.upper()}", str(field.default), field.description) for name, field in fields]
