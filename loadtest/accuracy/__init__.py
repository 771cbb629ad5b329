"""How well the gateway reads, beside the library rapidocr with the same weights, on the labelled corpus.

    python -m loadtest.accuracy

Both read each page in turn, so that a change of the machine's load meets both and their times can be compared as a
ratio. Each is scored by the corpus's own `score.py`; the report says where and by how much they differ, with what
certainty, and whether the floors of this project hold.
"""
