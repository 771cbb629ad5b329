"""What keeps a capacity from being measured."""


class CapacityError(Exception):
    """It can't be measured; the message says why and what to do."""
