"""`deploy/kubernetes`: what kustomize makes of each overlay, against the schemas of several versions of Kubernetes."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from loadtest.accuracy.circumstances import ROOT
from tests.ops.programs import run

OVERLAYS = sorted(path.parent for path in (ROOT / "deploy" / "kubernetes" / "overlays").glob("*/kustomization.yaml"))
VERSIONS = ("1.31", "1.34", "1.37")
SCALED_OBJECT = Path(__file__).parent / "schemas" / "scaled-object.json"


def build(overlay: Path) -> list[dict[str, object]]:
    """The objects of an overlay."""
    return list(yaml.safe_load_all(run("kubectl", ["kustomize", overlay])))


def kustomize() -> str:
    """Every overlay can be built."""
    return ", ".join(f"{overlay.name} {len(build(overlay))} objects" for overlay in OVERLAYS)


def schemas() -> str:
    """Kubernetes knows every member of every object."""
    with _written(custom=False) as files:
        for version in VERSIONS:
            run("kubernetes-validate", ["--strict", "--quiet", "--no-warn", "-k", version, *files])
    return f"{len(files)} different objects, Kubernetes {', '.join(VERSIONS)}"


def scaled_objects() -> str:
    """KEDA knows every member of its objects that are used here (`schemas/scaled-object.json` is our own)."""
    with _written(custom=True) as files:
        run("check-jsonschema", ["--schemafile", SCALED_OBJECT, *files])
    return f"{len(files)} ScaledObject"


@contextmanager
def _written(*, custom: bool) -> Iterator[list[Path]]:
    """A file for each object, of Kubernetes' own kinds or of KEDA's; those that overlays have alike once."""
    objects = [item for overlay in OVERLAYS for item in build(overlay)]
    texts = {yaml.safe_dump(item) for item in objects if (item["apiVersion"] == "keda.sh/v1alpha1") is custom}
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.yaml") for number in range(len(texts))]
        for path, text in zip(files, sorted(texts), strict=True):
            path.write_text(text)
        yield files
