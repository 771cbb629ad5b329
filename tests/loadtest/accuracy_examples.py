"""Made-up pages, scores and answers for the tests of the accuracy comparison."""

from loadtest.accuracy.corpus import to_page
from loadtest.accuracy.readings import Line, Reading
from loadtest.accuracy.scoring import FIGURES

QUAD = ((0.0, 0.0), (80.0, 0.0), (80.0, 10.0), (0.0, 10.0))


def label_of(file, texts=("abc def",), *, level="line", complete=True, width=100, height=50):
    lines = [
        {"quad": [[x, y + 20 * row] for x, y in QUAD], "text": text, "ignore": False} for row, text in enumerate(texts)
    ]
    size = {"width": width, "height": height}
    return {"file": f"images/{file}", **size, "lines": lines, "level": level, "gt_complete": complete}


def page_of(file, texts=("abc def",), **options):
    return to_page(label_of(file, texts, **options))


def reading_of(label, seconds=1.0):
    lines = tuple(Line(quad=line["quad"], text=line["text"], score=1.0) for line in label["lines"])
    return Reading(seconds=seconds, lines=lines)


def score_of(*, lines=0, matched=0, sims=0.0, chars=0, found=0, predicted=0, words=0, words_found=0):
    """A page as `score_page` counts it."""
    names = ("lines", "matched", "sims", "chars", "chars_found", "chars_predicted", "words", "words_found")
    return dict(zip(names, (lines, matched, sims, chars, found, predicted, words, words_found), strict=True))


def row_of(**figures):
    return {"pages": 1, "lines": 1, **dict.fromkeys(FIGURES), **figures}


ANSWER = {
    "request_id": "1",
    "model_set": "ppocrv6-small",
    "pages": [{"width": 100, "height": 50, "text": "abc", "lines": [{"quad": QUAD, "text": "abc", "score": 0.9}]}],
    "warnings": [],
}
