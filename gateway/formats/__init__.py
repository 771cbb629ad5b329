"""Answers in other forms than JSON: pure functions from pages to bytes, one module a format, all in `table`."""
