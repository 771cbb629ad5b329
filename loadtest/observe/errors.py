"""What keeps the incident from being played."""


class ObserveError(Exception):
    """A program is missing or does not start, or something did not happen in time."""
