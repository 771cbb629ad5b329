"""How often calls are tried again: never so often that retries become the load that keeps servers down."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryOptions:
    """The budget. With the defaults, 1,000 calls that all fail make at most 1,090 attempts.

    Attributes:
        max_attempts: of one call.
        share: of the calls that may be tried again in the long run.
        reserve: retries that are saved up at most, and at first: what one node that dies under load needs at once.
    """

    max_attempts: int = 3
    share: float = 0.08
    reserve: float = 10.0


class RetryBudget:
    """A bucket of tokens, as Finagle has it: a call puts in a part of one, a retry takes one out."""

    def __init__(self, options: RetryOptions) -> None:
        self._options = options
        self._tokens = options.reserve

    def deposit(self) -> None:
        """Count a call, whatever comes of it."""
        self._tokens = min(self._options.reserve, self._tokens + self._options.share)

    def withdraw(self) -> bool:
        """Take a retry out; whether there was one."""
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
