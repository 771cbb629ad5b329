"""What the image of the gateway is made of, as CycloneDX, from its lock file: `make sbom`."""

import json
import re
import sys
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from tests.ops.programs import CheckFailed, install_tools, run

LOCK_FILE = ROOT / "requirements" / "run.txt"
OUT = ROOT / "results" / "sbom.cdx.json"


def write(out: Path = OUT) -> str:
    """Write it; the same lock file gives the same bytes. cyclonedx-py checks it against the schema.

    Raises:
        CheckFailed: it lacks a package of the lock file, or a hash.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    arguments = ["requirements", LOCK_FILE, "--pyproject", ROOT / "pyproject.toml", "--output-reproducible", "-o", out]
    run("cyclonedx-py", arguments)
    components = json.loads(out.read_text())["components"]
    locked = re.findall(r"(?m)^([a-z0-9-]+)==(\S+)", LOCK_FILE.read_text())
    missing = set(locked) - {(one["name"], one["version"]) for one in components if _has_hashes(one)}
    if missing:
        raise CheckFailed(f"{out.name} lacks {sorted(missing)}, or their hashes")
    return f"{len(components)} packages with their hashes"


def _has_hashes(component: dict[str, object]) -> bool:
    references = component.get("externalReferences", [])
    assert isinstance(references, list)
    return any("hashes" in reference for reference in references)


if __name__ == "__main__":
    install_tools(print)
    print(f"{OUT.relative_to(ROOT)}: {write()}")
    sys.exit()
