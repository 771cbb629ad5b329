"""The one error of the comparison."""


class AccuracyError(Exception):
    """The comparison can't be made; the message says what is missing."""
