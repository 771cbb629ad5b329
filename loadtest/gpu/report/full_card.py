"""A server that starts on a card that is full already. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from loadtest.gpu.report.measured import Measured

FREE_MIB = (128, 8192)
SIGNATURES = re.compile(r"/onnxruntime_src\S+:\d+ .*?(?:= void\]|Stream\*\)) ")
VARYING = re.compile(r"'[^']*'|\d+|running \w+ node")


def full_card(measured: Measured) -> str:
    """What the server, the gateway and its log say, for each amount of memory that was left."""
    return "\n\n".join(_one(measured[f"full card at the start, {free} MiB free"]) for free in FREE_MIB)


def by_kind(texts: Mapping[str, int]) -> list[tuple[str, int]]:
    """One text of each kind, and how often that kind was given; without the signatures of C++ functions."""
    examples: dict[str, str] = {}
    counts: dict[str, int] = {}
    for text, count in texts.items():
        short = SIGNATURES.sub("", text).replace("\\n", "").rstrip("; ")
        kind = VARYING.sub("", short)
        examples.setdefault(kind, short)
        counts[kind] = counts.get(kind, 0) + count
    return [(examples[kind], count) for kind, count in counts.items()]


def _one(data: dict[str, Any]) -> str:
    start, again = data["start"], data["start_when_free"]
    texts = "\n".join(f"    {count} x {text}" for text, count in by_kind(data["failed"]["texts"]))
    log = "\n".join(f"    {message}" for message in data["gateway_log"] if "ready" in message or "rotation" in message)
    return (
        f"**{data['free_mib']:,} MiB free.** The server ends after {start['seconds']:.0f} s with exit code "
        f"{start['exit_code']}; {data['failed']['models']} models did not load:\n\n{texts}\n\n"
        f"`/readyz` answers {data['readyz']['status']}, `/v1/ocr` {data['ocr']['status']} "
        f'`{data["ocr"]["content"].get("code", "")}` ("{data["ocr"]["content"].get("detail", "")}"); the gateway\'s '
        f"log has:\n\n{log}\n\n"
        f"Started again when the card was free, the server was ready after {again['seconds']:.0f} s and the gateway "
        f"{data['gateway_ready_after_s']:.0f} s later, by itself."
    )
