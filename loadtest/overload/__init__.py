"""Many times more requests than the gateway can answer, and what becomes of them.

`make overload` runs it, docs/overload.md says what it is and what came of it.
"""
