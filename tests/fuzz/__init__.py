"""Inputs that nobody would think of, for a given time; `make fuzz`, docs/fuzzing.md."""
