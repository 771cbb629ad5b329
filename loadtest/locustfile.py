"""Load from Locust: a user class for each mix of pages, and one for documents; docs/load-testing.md says how.

locust -f loadtest/locustfile.py --host http://127.0.0.1:8080
locust -f loadtest/locustfile.py --host https://ocr.example --images ~/scans
locust -f loadtest/locustfile.py,loadtest/step_shape.py --host http://127.0.0.1:8080 --headless Receipts
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Locust itself looks in this file's folder only

from loadtest.capacity.pages import DOCUMENTS, OWN
from loadtest.capacity.users import DocumentSource, PageSource
from loadtest.stages.pages import ONE_LINERS, REFERENCE


class Receipts(PageSource):
    """Scans of till receipts."""

    mix = "receipts"


class Dense(PageSource):
    """Pages of documents, a hundred lines each."""

    mix = "dense"


class Scene(PageSource):
    """Street photographs."""

    mix = "scene"


class OneLiners(PageSource):
    """Pictures of a single line."""

    mix = ONE_LINERS


class DrawnPage(PageSource):
    """Where there is no corpus: one drawn page of 50 lines."""

    mix = REFERENCE


class OwnFiles(PageSource):
    """Files of `--images`, and nothing else then."""

    mix = OWN


class Documents(DocumentSource):
    """A scanned PDF, read as a stream."""

    mix = DOCUMENTS
