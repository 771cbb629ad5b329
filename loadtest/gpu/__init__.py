"""Measurements on a real GPU (see __main__)."""
