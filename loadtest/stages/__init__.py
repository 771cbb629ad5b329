"""What the gateway itself costs for a page, everything outside Triton: `make bench-stages`."""
