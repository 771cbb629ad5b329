"""In which scripts a recogniser can write, from its charset: what it was taught, not what somebody calls it."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

ISO_15924: Mapping[str, str] = {
    "LATIN": "Latn",
    "CJK": "Hani",
    "HIRAGANA": "Hira",
    "KATAKANA": "Kana",
    "HANGUL": "Hang",
    "BOPOMOFO": "Bopo",
    "CYRILLIC": "Cyrl",
    "GREEK": "Grek",
    "ARABIC": "Arab",
    "HEBREW": "Hebr",
    "THAI": "Thai",
    "DEVANAGARI": "Deva",
    "TAMIL": "Taml",
    "TELUGU": "Telu",
    "KANNADA": "Knda",
}
"""Codes of scripts, by the first word of their letters' names in Unicode."""


def count_letters(charset: Iterable[str]) -> dict[str, int]:
    """How many letters of each script a charset has, by its ISO 15924 code, most first."""
    letters: Counter[str] = Counter()
    for text in charset:
        if len(text) == 1 and text.isalpha():
            code = ISO_15924.get(unicodedata.name(text, "").partition(" ")[0])
            letters.update([code] if code else [])
    return dict(letters.most_common())
