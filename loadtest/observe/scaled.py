"""The deployed configurations with shorter times, so that an incident of hours fits into minutes. Pure."""

import re
from collections.abc import Mapping

SCALE = 20
"""So many times shorter is every window: 5 minutes are 15 s, an hour is 3 minutes."""

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_WINDOW = re.compile(r"(?<=\[)(\d+)([smhd])(?=\])|(?<=for: )(\d+)([smhd])\b|(?<=offset )(\d+)([smhd])\b")
_GROUP_PAUSE = re.compile(r"(group_wait|group_interval|repeat_interval): (\d+)([smhd])")
_WEBHOOK = re.compile(r"http://127\.0\.0\.1:9095")


def rules(text: str) -> str:
    """A file of rules; names of what is recorded stay, or nobody would find it."""
    return _WINDOW.sub(lambda match: _shorter(*[part for part in match.groups() if part]), text)


def alertmanager(text: str, webhook: str) -> str:
    """Alertmanager's configuration, with its receivers at another address."""
    shorter = _GROUP_PAUSE.sub(lambda match: f"{match[1]}: {_shorter(match[2], match[3])}", text)
    return _WEBHOOK.sub(webhook, shorter)


def prometheus(text: str) -> str:
    """Prometheus's configuration, looking every second."""
    shorter = re.sub(r"(scrape_interval|scrape_timeout|evaluation_interval): \d+s", r"\1: 1s", text)
    return shorter.replace("- job_name: prometheus\n", "- job_name: itself\n")


def targets(addresses: Mapping[str, str]) -> Mapping[str, str]:
    """The files of targets, by name."""
    return {f"{name}.yml": f"- targets: [{address}]\n" for name, address in addresses.items()}


def _shorter(number: str, unit: str) -> str:
    milliseconds = round(1000 * int(number) * _SECONDS[unit] / SCALE)
    return f"{milliseconds}ms" if milliseconds % 1000 else f"{milliseconds // 1000}s"
