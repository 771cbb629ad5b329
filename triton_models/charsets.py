"""The text of each class of a recogniser.

PP-OCR's classes are the blank, one per line of the dictionary, and the space. Lines are cut at line feeds and nowhere
else: one class is U+3000, the ideographic space, which `str.strip` would empty; some are two code points (flags).
"""

import onnx

from triton_models.errors import CharsetError

METADATA_KEY = "character"
SPACE = " "


def dictionary_entries(text: str) -> tuple[str, ...]:
    """The lines of a dictionary, whichever way they end; a last line feed ends the last line and starts no other."""
    lines = text.replace("\r\n", "\n").split("\n")
    return tuple(lines[:-1] if lines[-1] == "" else lines)


def embedded_dictionary(model: onnx.ModelProto) -> str:
    """The dictionary that a recogniser carries in its metadata; CharsetError if it carries none."""
    for entry in model.metadata_props:
        if entry.key == METADATA_KEY:
            return str(entry.value)
    raise CharsetError(f"the recogniser has no metadata {METADATA_KEY!r}, and the catalog names no dictionary")


def make_charset(dictionary: str, classes: int) -> tuple[str, ...]:
    """The texts of the classes 1 to `classes` - 1, the space last; class 0, the blank, has none.

    Raises:
        CharsetError: the dictionary has another number of lines than the recogniser needs, or holds an empty or
            repeated one: then every text after it would be shifted.
    """
    entries = dictionary_entries(dictionary)
    if len(entries) + 2 != classes:
        raise CharsetError(
            f"the dictionary has {len(entries)} lines, but a recogniser of {classes} classes needs {classes - 2}: "
            "one class is the blank, one the space"
        )
    if "" in entries or len(set(entries)) != len(entries):
        raise CharsetError("the dictionary has empty or repeated lines")
    return (*entries, SPACE)
