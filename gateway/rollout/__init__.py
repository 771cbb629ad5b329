"""Replacing the models of Tritons that serve: verified before, one after the other, and back with one command."""
