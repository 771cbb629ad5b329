"""Whether the GPU reads what the CPU reads: each page through a gateway, line by line beside the reference."""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loadtest.gpu.load import OCR_PATH, connect

MOST_EXAMPLES = 40

Line = Mapping[str, Any]


async def read_pages_through(ports: Sequence[int], pages: Sequence[Path]) -> dict[str, list[Line]]:
    """The lines of each page by its name, as many at once as there are gateways."""
    readings: dict[str, list[Line]] = {}
    waiting = list(reversed(pages))

    async def read_some(port: int) -> None:
        with connect(port) as connection:
            while waiting:
                page = waiting.pop()
                answer = await connection.post(OCR_PATH, page.read_bytes())
                if answer.status != 200:
                    raise RuntimeError(f"{page.name}: {answer.status} {answer.body.decode()[:500]}")
                readings[page.name] = json.loads(answer.body)["pages"][0]["lines"]

    await asyncio.gather(*(read_some(port) for port in ports))
    return readings


def compare(reference: Mapping[str, Any], readings: Mapping[str, Sequence[Line]]) -> dict[str, Any]:
    """How many lines have equal text, and the ones that have not.

    Lines are paired by their text first, so that one that is found on one side only does not shift all others.
    """
    differing, equal, in_all, score_gaps, quad_gaps = [], 0, 0, [0.0], [0.0]
    same_pages = 0
    for name, lines in sorted(readings.items()):
        expected = reference[name]["lines"]
        in_all += len(expected)
        same_pages += [line["text"] for line in expected] == [line["text"] for line in lines]
        missing, added = difference(expected, lines)
        equal += len(expected) - len(missing)
        if missing or added:
            differing.append({"page": name, "cpu": missing, "gpu": added})
        if len(expected) == len(lines):
            pairs = list(zip(expected, lines, strict=True))
            score_gaps += [abs(one["score"] - other["score"]) for one, other in pairs if one["text"] == other["text"]]
            quad_gaps += [quad_gap(one["quad"], other["quad"]) for one, other in pairs]
    return {
        "pages": len(readings),
        "pages_equal": same_pages,
        "lines": in_all,
        "lines_equal": equal,
        "largest_score_gap": round(max(score_gaps), 4),
        "largest_quad_gap_px": round(max(quad_gaps), 1),
        "differing": differing[:MOST_EXAMPLES],
    }


def difference(expected: Sequence[Line], lines: Sequence[Line]) -> tuple[list[str], list[str]]:
    """Texts that only the first, and only the second has."""
    one, other = Counter(line["text"] for line in expected), Counter(line["text"] for line in lines)
    return sorted((one - other).elements()), sorted((other - one).elements())


def quad_gap(one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> float:
    """The farthest that a corner moved, pixels along an axis."""
    return max(abs(a - b) for p, q in zip(one, other, strict=True) for a, b in zip(p, q, strict=True))
