"""docs/gpu.md, written from the results that are kept: every number in it is one of theirs, or computed from them."""
