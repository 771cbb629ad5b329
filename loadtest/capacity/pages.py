"""What is sent: four mixes of the labelled corpus, a drawn page where there is none, or anybody's own files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from loadtest.capacity.errors import CapacityError
from loadtest.documents.made import scanned_pdf
from loadtest.gpu.pages import PageFile
from loadtest.stages.pages import REFERENCE, corpus_mixes, reference_page

DOCUMENTS, OWN = "documents", "own"
DOCUMENT_PAGES = 3

Mixes = Mapping[str, Sequence[PageFile]]


def find_mixes(corpus: Path, images: Path | None) -> Mixes:
    """Files by mix; one's own alone if there are some, and the drawn page in place of a corpus that is not there.

    Raises:
        CapacityError: there are no files in the folder of one's own.
    """
    if images is not None:
        return {OWN: own_files(images)}
    pages = corpus_mixes(corpus) if (corpus / "images").is_dir() else {REFERENCE: [reference_page()]}
    return {**pages, DOCUMENTS: [made_document()]}


def own_files(folder: Path) -> list[PageFile]:
    """Every file of a folder, in order of their names."""
    paths = sorted(path for path in folder.glob("*") if path.is_file() and not path.name.startswith("."))
    if not paths:
        raise CapacityError(f"{folder} is no folder with files: --images takes one whose files are all to be read")
    return [PageFile(OWN, path.name, path.read_bytes()) for path in paths]


def made_document() -> PageFile:
    """A PDF of a few scanned pages, the same at every call."""
    document = scanned_pdf(DOCUMENT_PAGES)
    return PageFile(DOCUMENTS, "scans.pdf", document.data)
