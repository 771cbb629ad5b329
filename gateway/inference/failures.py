"""What a foreign error means: one table from status code and text to our errors, one context manager that applies it.

Codes alone do not tell. UNAVAILABLE is a dead server or a full queue, INTERNAL a bug in a model or a full card,
NOT_FOUND a misspelt name or a server that shuts down. The texts are from Triton 2.51, gRPC 1.85, ONNX Runtime 1.32;
tests/e2e/test_failure_texts.py provokes each, so that a version with other words fails a test by name.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import grpc
from grpc import StatusCode

from gateway.errors import (
    BackendUnavailable,
    InferenceFailed,
    InferenceTimeout,
    OcrError,
    OutOfMemory,
    Overloaded,
    UnexpectedOutput,
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """Our error for a foreign one.

    Attributes:
        error: its type.
        words: what happened, for the caller; the foreign text stays in the cause, for the log.
    """

    error: type[OcrError]
    words: str


NO_MEMORY = Meaning(OutOfMemory, "the inference server ran out of memory")
QUEUE_FULL = Meaning(Overloaded, "the inference server's queue is full")
QUEUED_TOO_LONG = Meaning(Overloaded, "the request waited too long in the inference server's queue")
NO_MORE_WORK = Meaning(Overloaded, "the inference server takes no more work")
NO_SIGN_OF_LIFE = Meaning(InferenceTimeout, "the inference server gives no sign of life")
NO_ANSWER = Meaning(InferenceTimeout, "no answer in time")
STOPPING = Meaning(BackendUnavailable, "the inference server is starting or shutting down")
# What a server that drains says of all its models, and any server of a model that was unloaded or failed to load.
NOT_LOADED = Meaning(BackendUnavailable, "the model is not loaded, or the inference server is shutting down")
MISSING = Meaning(BackendUnavailable, "the inference server has no such model")
DEAD = Meaning(BackendUnavailable, "the model's process has died")
CLOSED = Meaning(BackendUnavailable, "the gateway has closed its connection to the inference server")
UNREACHABLE = Meaning(BackendUnavailable, "the inference server can't be reached")
REFUSED = Meaning(BackendUnavailable, "the inference server refuses the gateway")
CANCELLED = Meaning(BackendUnavailable, "the inference server cancelled the call")
MISFIT = Meaning(UnexpectedOutput, "the request does not fit the model that is served")
TOO_LARGE = Meaning(InferenceFailed, "a message was larger than gRPC carries")
FAILED = Meaning(InferenceFailed, "the model failed")

BY_TEXT: tuple[tuple[str, Meaning], ...] = (
    # ONNX Runtime's arena: at its limit, and on a full card. The class and number of the exception vary by version.
    ("is smaller than requested bytes of", NO_MEMORY),
    ("failed to allocate memory for requested buffer of size", NO_MEMORY),
    ("out of memory", NO_MEMORY),
    ("cuda failure 2", NO_MEMORY),
    ("cublas failure 3", NO_MEMORY),
    ("bad_alloc", NO_MEMORY),
    ("bad allocation", NO_MEMORY),
    # The Python backend's /dev/shm is full.
    ("failed to increase the shared memory pool size", NO_MEMORY),
    ("exceeds maximum queue size", QUEUE_FULL),
    ("request timeout expired", QUEUED_TOO_LONG),
    # A stopped server's kernel still takes connections, so a hang shows as one of these two.
    ("ping timeout", NO_SIGN_OF_LIFE),
    ("before receiving settings frame", NO_SIGN_OF_LIFE),
    ("server exiting", STOPPING),
    ("server is stopping", STOPPING),
    ("server not ready", STOPPING),
    ("has no available versions", NOT_LOADED),
    ("stub process", DEAD),
    ("rst_stream", UNREACHABLE),
    ("protocol is restricted", REFUSED),
    ("exiting due to terminate flag", CLOSED),
    ("message larger than max", TOO_LARGE),
)
"""Part of the text, in lower case; the first that is found counts, whatever the code."""

BY_CODE: Mapping[StatusCode, Meaning] = {
    StatusCode.CANCELLED: CANCELLED,
    StatusCode.UNKNOWN: FAILED,
    StatusCode.INVALID_ARGUMENT: MISFIT,
    StatusCode.DEADLINE_EXCEEDED: NO_ANSWER,
    StatusCode.NOT_FOUND: MISSING,
    StatusCode.ALREADY_EXISTS: FAILED,
    StatusCode.PERMISSION_DENIED: REFUSED,
    StatusCode.UNAUTHENTICATED: REFUSED,
    StatusCode.RESOURCE_EXHAUSTED: NO_MORE_WORK,
    StatusCode.FAILED_PRECONDITION: FAILED,
    StatusCode.ABORTED: FAILED,
    StatusCode.OUT_OF_RANGE: FAILED,
    StatusCode.UNIMPLEMENTED: FAILED,
    StatusCode.INTERNAL: FAILED,
    StatusCode.UNAVAILABLE: UNREACHABLE,
    StatusCode.DATA_LOSS: FAILED,
}


def meaning_of(code: StatusCode, text: str) -> Meaning:
    """Our meaning of a status with this code and text."""
    lowered = text.lower()
    return next((meaning for part, meaning in BY_TEXT if part in lowered), BY_CODE[code])


def meaning_behind(error: OcrError) -> Meaning | None:
    """The meaning that an error of ours was made from; None if no call to a server caused it."""
    cause = error.__cause__
    if isinstance(cause, grpc.aio.AioRpcError):
        return meaning_of(cause.code(), cause.details() or "")
    return None


def foreign_text(error: OcrError) -> str:
    """The server's or gRPC's own words behind an error of ours, for operators; empty if there are none."""
    cause = error.__cause__
    return f"({cause.details()})" if isinstance(cause, grpc.aio.AioRpcError) else ""


def failure(subject: str, meaning: Meaning) -> OcrError:
    """The error to raise, from its cause; `subject` is what was asked, usually a model's name."""
    return meaning.error(f"{subject}: {meaning.words}")


@contextmanager
def translated(subject: str) -> Iterator[None]:
    """Turn gRPC's errors into ours, the cause chained. A cancelled task stays cancelled.

    Raises:
        BackendError, Overloaded: for any failure of the call.
    """
    try:
        yield
    except grpc.aio.AioRpcError as error:
        raise failure(subject, meaning_of(error.code(), error.details() or "")) from error
    except grpc.aio.UsageError as error:
        raise failure(subject, CLOSED) from error
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        raise failure(subject, CLOSED) from error


def _is_cancelled() -> bool:
    """Whether somebody cancelled this task. If nobody did, the call was cancelled under it: its channel was closed."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
