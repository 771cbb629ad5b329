"""`ocr-gateway read` as people run it, on a gateway with Triton and on one of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
from rendered_pages import lines_of_small_page, png, small_page
from served_models import HOME

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "images"
CORPUS_FILES = (
    "ppocrword_ch_word_1.jpg",
    "cnocr_rand_cn1.png",
    "mmocrrec_1036169.jpg",
    "rapid_en_rec.jpg",
    "ccpd_rot2.jpg",
)


@pytest.fixture(params=["triton", "embedded"])
def where(request):
    """The arguments that say where to read."""
    if request.param == "embedded":
        return ["--embedded", "--home", str(HOME)]
    return ["--url", request.getfixturevalue("gateway")]


@pytest.fixture
def pages(tmp_path):
    """Two pages as files."""
    for number in (0, 1):
        (tmp_path / f"{number}.png").write_bytes(png(small_page(number)))
    return [str(tmp_path / f"{number}.png") for number in (0, 1)]


def run(*arguments, **choices):
    command = [sys.executable, "-m", "gateway", "read", *arguments]
    return subprocess.run(command, check=False, capture_output=True, timeout=300, **choices)


def test_files_are_read_as_text_on_either_backend(where, pages):
    done = run(*where, "--quiet", *pages)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().split("\n") == [*lines_of_small_page(0), *lines_of_small_page(1), ""]


def test_words_of_a_picture_from_the_standard_input_are_rows_of_tsv(gateway, pages):
    with Path(pages[0]).open("rb") as stdin:
        done = run("--url", gateway, "--format", "tsv", "-", stdin=stdin)
    rows = [row.split("\t") for row in done.stdout.decode().splitlines()]
    assert done.returncode == 0
    assert [row[-1] for row in rows if row[0] == "5"] == " ".join(lines_of_small_page(0)).split()


def test_a_file_that_is_no_picture_is_told_and_counts(gateway, pages, tmp_path):
    (tmp_path / "note.txt").write_text("not a picture")
    done = run("--url", gateway, str(tmp_path / "note.txt"), pages[0])
    assert done.returncode == 1
    assert "note.txt: unsupported_image: " in done.stderr.decode()
    assert done.stdout.decode().splitlines() == lines_of_small_page(0)


def rows_of(printed):
    """A TSV's rows, confidences as numbers."""
    rows = [line.split("\t") for line in printed.decode().splitlines()]
    return [(*row[:10], row[11]) for row in rows], [float(row[10]) for row in rows if row[0] != "level"]


@pytest.mark.corpus
def test_both_backends_say_the_same_of_pictures_of_the_corpus(gateway):
    if not CORPUS.exists():
        pytest.skip(f"{CORPUS} is not there")
    files = [str(CORPUS / name) for name in CORPUS_FILES]
    printed = []
    for where in (["--url", gateway], ["--embedded", "--home", str(HOME)]):
        done = run(*where, "--format", "tsv", "--timeout", "120", *files)
        assert done.returncode == 0, done.stderr.decode()
        printed.append(rows_of(done.stdout))
    (rows, confidences), (other_rows, other_confidences) = printed
    assert rows == other_rows
    assert confidences == pytest.approx(other_confidences, abs=0.05)
    assert [row[0] for row in rows].count("level") == len(files)
    assert [row[0] for row in rows].count("5") > 8
