"""How much of what Triton can do is left when pages come through the gateway: `make bench-efficiency`."""
