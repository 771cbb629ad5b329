"""How YAML is written, so that it means what it seems to."""

from loadtest.accuracy.circumstances import ROOT
from tests.ops.programs import run

DEPLOY = ROOT / "deploy"
RULES = """
extends: default
rules:
  line-length: {max: 140}
  document-start: disable
  braces: {max-spaces-inside: 0}
  comments: {min-spaces-from-content: 1}
"""


def yaml_style() -> str:
    """No key twice, no tab, no value that is a truth where it looks like a text."""
    files = sorted(path for suffix in ("yaml", "yml") for path in DEPLOY.rglob(f"*.{suffix}"))
    run("yamllint", ["--strict", "--config-data", RULES, *files])
    return f"{len(files)} files"
