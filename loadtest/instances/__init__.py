"""What instances of a model in Python's backend cost on this machine (see __main__)."""
