"""Pages of the corpus and the order in which a person reads them.

The labels give no order: they are sorted from top to bottom, across columns. So each page has blocks, marked by eye on
the page as it is upright, in fractions of its width and height. A block is read row by row; what lies in none, such as
a form's margin, has no place in the order and is not counted.
"""

from dataclasses import dataclass

Block = tuple[float, float, float, float]
"""Left, top, right and bottom."""

WHOLE_PAGE: tuple[Block, ...] = ((0, 0, 1, 1),)

LINN: tuple[Block, ...] = ((0, 0, 1, 0.381), (0, 0.381, 0.49, 0.687), (0.49, 0.381, 1, 0.687), (0, 0.687, 1, 1))
"""A page with an introduction, two columns and a list; scanned level, askew, and in each of the four turns."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One page.

    Attributes:
        file: in the corpus.
        kind: of the layout, for the report.
        blocks: in the order of reading.
        turned: by how many degrees, clockwise, the page must be turned to be upright.
        slope: by how much of its height the page's text falls from its left edge to its right.
    """

    file: str
    kind: str
    blocks: tuple[Block, ...] = WHOLE_PAGE
    turned: int = 0
    slope: float = 0.0


LAYOUTS = (
    Layout(
        "images/enpdf_fedreg_p2.jpg",
        "columns",
        ((0, 0, 1, 0.063), (0, 0.063, 0.355, 1), (0.355, 0.063, 0.645, 1), (0.645, 0.063, 1, 1)),
    ),
    Layout("images/zhpdf_exam_a3_p2.jpg", "columns", ((0.07, 0, 1, 0.1), (0.07, 0.1, 0.51, 1), (0.51, 0.1, 1, 1))),
    Layout("images/enpdf_docling_widetable.jpg", "columns", ((0, 0, 0.5, 1), (0.5, 0, 1, 1))),
    Layout(
        "images_nogt/mmocr_demo_densetext_det.jpg",
        "columns",
        ((0, 0, 1, 0.052), (0, 0.052, 0.49, 0.965), (0.49, 0.052, 1, 0.965), (0, 0.965, 1, 1)),
    ),
    Layout("images_nogt/scan_jbig2_p1.jpg", "columns", LINN),
    Layout("images_nogt/scan_skew_p1.jpg", "columns", LINN, slope=0.0285),
    Layout("images_nogt/scan_cardinal_p2.jpg", "columns", LINN, 270),
    Layout("images_nogt/scan_cardinal_p3.jpg", "columns", LINN, 180),
    Layout("images_nogt/scan_cardinal_p4.jpg", "columns", LINN, 90),
    Layout("images/enpdf_docling_pg9.jpg", "tables"),
    Layout("images/zhpdf_debref_p32_table.jpg", "tables"),
    Layout("images/enpdf_senate.jpg", "tables", ((0, 0, 0.91, 1),)),
    Layout("images/zhpdf_lshort_toc_p9.jpg", "tables"),
    Layout("images/enpdf_sanjose_longlines.jpg", "tables"),
    Layout("images/enpdf_scotus.jpg", "one column"),
    Layout("images/enpdf_cupertino.jpg", "one column"),
    Layout("images/enpdf_pp13_p1.jpg", "one column"),
    Layout("images/zhpdf_zhlipsum_p1.jpg", "one column"),
    Layout("images/sroie_247.jpg", "receipts"),
    Layout("images/sroie_066.jpg", "receipts"),
    Layout("images/sroie_328.jpg", "receipts"),
    Layout("images/derived_cnocr_multi-line_cn1_ccw180.png", "turned", turned=180),
    Layout("images/derived_zhpdf_zhlipsum_p1_ccw180.jpg", "turned", turned=180),
    Layout("images/derived_ppocr_00018069_ccw90.jpg", "turned", turned=90),
)
