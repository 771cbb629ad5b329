"""Checks of everything in `deploy/` with the programs that read it: `make ops-check`."""
