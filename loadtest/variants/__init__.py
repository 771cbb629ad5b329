"""Other ways to run the same models on a CPU, and the gate that they must pass: `make bench-variants`.

A variant may be documented if no figure of the corpus is worse than the baseline's by more than 0.2 points.
"""
