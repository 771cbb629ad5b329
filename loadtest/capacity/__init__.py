"""How much a deployment answers before it is late, and what is full first: `make capacity`."""
