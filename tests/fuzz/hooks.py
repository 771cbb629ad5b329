"""What schemathesis can't know from the document: what an image is, and that lines are JSON.

It is loaded by SCHEMATHESIS_HOOKS in the environment of requirements/fuzz.txt, and imports nothing of ours. The images
are files in FUZZ_IMAGES.
"""

import json
import os
from pathlib import Path

import schemathesis  # type: ignore[import-not-found] # it lives in another environment
from hypothesis import strategies as st

IMAGES = [path.read_bytes()[1:] for path in sorted(Path(os.environ["FUZZ_IMAGES"]).iterdir())]
"""Seeds, without the byte that chooses a target."""

images = st.sampled_from(IMAGES)
schemathesis.openapi.format("binary", images)
schemathesis.openapi.media_type("application/octet-stream", images)
schemathesis.openapi.media_type("image/*", images)


@schemathesis.deserializer("application/x-ndjson")
def first_line(_context: object, response: "schemathesis.Response") -> object:
    """The document describes a line; the first stands for all."""
    return json.loads(response.text.partition("\n")[0])


@schemathesis.hook
def filter_case(_context: object, case: "schemathesis.Case") -> bool:
    """In a form a list of one value looks like the value, so it is no wrong request."""
    options = case.body.items() if case.media_type == "multipart/form-data" and isinstance(case.body, dict) else ()
    return not any(isinstance(value, list) for name, value in options if name != "file")
