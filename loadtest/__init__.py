"""Measurements of the service from outside; no part of what is deployed."""
