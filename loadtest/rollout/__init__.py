"""Everything replaced under load: gateways, Tritons, a version of a model; and the number of requests that it cost.

`make rollout` runs it, docs/overload.md says what it is and what came of it.
"""
