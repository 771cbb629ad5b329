"""From bytes to pixels to tensors, and from steps to text. Pure functions of plain values: no I/O in this package."""
