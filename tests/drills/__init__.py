"""Faults injected into a real Triton and real gateways under load, and a ledger of every request.

`make drills` runs them all, docs/drills.md says what they are and what came of them.
"""
