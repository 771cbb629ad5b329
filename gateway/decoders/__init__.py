"""Where files are decoded: on a thread, or in a process that may die (docs/decisions/0019-decoder-processes.md)."""
