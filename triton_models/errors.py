"""Every error that building a repository raises on purpose.

BuildError
├── UnknownModelSet      the catalog has no set of this name
├── WheelError           a wheel can't be had, or is not the one that was pinned
├── CharsetError         a charset does not fit its recogniser
├── GraphError           a model is not shaped as the edits expect
├── VerificationError    an edited model does not answer as its original
└── RepositoryError      the repository can't be written where it was asked for

The command line prints their messages and nothing else, so each says what to do.
"""


class BuildError(Exception):
    """Base of the errors."""


class UnknownModelSet(BuildError):
    """The catalog has no set of this name."""


class ShapeError(BuildError):
    """The models can't take these shapes."""


class WheelError(BuildError):
    """A wheel can't be had, or is not the one that was pinned."""


class CharsetError(BuildError):
    """A charset does not fit its recogniser."""


class GraphError(BuildError):
    """A model is not shaped as the edits expect."""


class VerificationError(BuildError):
    """An edited model does not answer as its original."""


class RepositoryError(BuildError):
    """The repository can't be written where it was asked for."""
