"""Every format besides JSON, by the name that callers use."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from gateway.formats.alto import ALTO
from gateway.formats.format import Format
from gateway.formats.hocr import HOCR
from gateway.formats.markdown import MARKDOWN
from gateway.formats.page_xml import PAGE_XML
from gateway.formats.pdf import PDF
from gateway.formats.picture import PNG
from gateway.formats.plain_text import TEXT
from gateway.formats.tsv import TSV

FormatName: TypeAlias = Literal["json", "ndjson", "text", "markdown", "tsv", "hocr", "alto", "page", "pdf", "png"]
"""What callers may ask for."""

FORMATS: Mapping[FormatName, Format] = MappingProxyType(
    {
        "text": TEXT,
        "markdown": MARKDOWN,
        "tsv": TSV,
        "hocr": HOCR,
        "alto": ALTO,
        "page": PAGE_XML,
        "pdf": PDF,
        "png": PNG,
    }
)
"""The table."""
