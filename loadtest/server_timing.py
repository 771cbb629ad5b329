"""The header Server-Timing (W3C), as the gateway and whatever stands before it write it."""

import re

_DESCRIPTION = re.compile(r';\s*desc\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^;,]*)')
_ENTRY = re.compile(r'([^\s;,]+)\s*;\s*dur\s*=\s*"?([0-9]+(?:\.[0-9]+)?)')


def stage_milliseconds(header: str) -> dict[str, float]:
    """Milliseconds by stage: `decode;dur=3.1, detect;dur=12.0`. Entries without a duration (a proxy's) are left out."""
    entries = _DESCRIPTION.sub("", header)  # what it says is anybody's, commas included
    return {name: float(milliseconds) for name, milliseconds in _ENTRY.findall(entries)}
