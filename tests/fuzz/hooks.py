"""What schemathesis can't know from the document: what an image is, and that lines are JSON.

It is loaded by SCHEMATHESIS_HOOKS in the environment of requirements/fuzz.txt, and imports nothing of ours. The images
are files in FUZZ_IMAGES.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import schemathesis  # type: ignore[import-not-found] # it lives in another environment
from hypothesis import strategies as st
from schemathesis.generation.jsonschema import strategy  # type: ignore[import-not-found]
from schemathesis.transport.serialization import contains_binary  # type: ignore[import-not-found]

IMAGES = [path.read_bytes()[1:] for path in sorted(Path(os.environ["FUZZ_IMAGES"]).iterdir())]
"""Seeds, without the byte that chooses a target."""

images = st.sampled_from(IMAGES)
schemathesis.openapi.format("binary", images)
schemathesis.openapi.media_type("application/octet-stream", images)
schemathesis.openapi.media_type("image/*", images)

judge_of = strategy._validator


def judge_without_bytes(schema: object) -> Callable[[object], bool]:
    """Whether a generated value fits a schema. Its own way (4.32) ends the run over files in a form's list.

    After some six thousand cases, say: "Unsupported type: 'Binary'". Elsewhere it lets such values pass, too.
    """
    judge = judge_of(schema)
    return lambda value: contains_binary(value) or judge(value)


strategy._validator = judge_without_bytes


@schemathesis.deserializer("application/x-ndjson")
def first_line(_context: object, response: "schemathesis.Response") -> object:
    """The document describes a line; the first stands for all."""
    return json.loads(response.text.partition("\n")[0])


@schemathesis.hook
def filter_case(_context: object, case: "schemathesis.Case") -> bool:
    """In a form a list of one value looks like the value, so it is no wrong request."""
    options = case.body.items() if case.media_type == "multipart/form-data" and isinstance(case.body, dict) else ()
    return not any(isinstance(value, list) for name, value in options if name != "file")
