"""What the gateway answers to a file."""

from dataclasses import dataclass

import httpx

from loadtest.formats.odd_files import OddFile

TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Attributes:
        status: HTTP's.
        code: of the problem; empty if there is none.
        text: of all pages.
        lines: on all pages.
        warnings: their codes.
    """

    status: int
    code: str = ""
    text: str = ""
    lines: int = 0
    warnings: tuple[str, ...] = ()


def ask(address: str, file: OddFile) -> Answer:
    """Send a file as it is."""
    content = file.path.read_bytes()
    response = httpx.post(f"{address}/v1/ocr", content=content, params=file.options, timeout=TIMEOUT_S, trust_env=False)
    answer = response.json()
    if response.status_code != httpx.codes.OK:
        return Answer(response.status_code, answer["code"])
    return Answer(
        response.status_code,
        text="\n".join(page["text"] for page in answer["pages"]),
        lines=sum(len(page["lines"]) for page in answer["pages"]),
        warnings=tuple(warning["code"] for warning in answer["warnings"]),
    )
