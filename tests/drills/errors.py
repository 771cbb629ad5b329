"""What keeps a drill from being run, as opposed to what it finds."""


class DrillError(Exception):
    """The drill could not be made; says nothing about the service."""
