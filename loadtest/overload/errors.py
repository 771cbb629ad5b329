"""What keeps an overload from being made, as opposed to what comes of it."""


class OverloadError(Exception):
    """It could not be made; says nothing about the service."""
