"""The shape that this service replaces, one Python model that does everything, beside it: `make bench-pipeline`."""
