"""Every error that the gateway raises on purpose.

    OcrError
    ├── InvalidRequest          broken multipart, JSON or base64; unknown or bad option
    ├── BodyTooLarge            more bytes than the limit
    ├── BodyTimeout             the body did not arrive in time
    ├── Unauthenticated         no API key, or one that is not known
    ├── Forbidden               the client may not do this
    ├── RateLimited             the client's quota is used up
    ├── TooManyPages            more than are read in one request
    ├── ImageError
    │   ├── UnsupportedImage    not a type that is served
    │   ├── UnreadableImage     the right type, but corrupt
    │   ├── ImageTooLarge       more pixels than the limit
    │   └── DecoderFailed       its decoder died over it, or took too long
    ├── DeadlineExceeded        the client's own deadline ran out while everything was healthy
    ├── Overloaded              more work than the service can do in time
    ├── Draining                the service is shutting down
    ├── BackendError            the inference server is at fault
    │   ├── InferenceTimeout    it did not answer before the deadline
    │   ├── BackendUnavailable  it can't be reached, or a model is not ready
    │   ├── OutOfMemory         it ran out of memory
    │   ├── InferenceFailed     the model failed for another reason
    │   └── UnexpectedOutput    the answer does not fit the contract
    ├── ContractError           models and gateway disagree; raised when the models are read, not by requests
    └── SettingsError           a setting is unknown or out of range; raised at start

Domain errors know nothing of HTTP: `gateway.web.problems` holds the one table from `code` to status.
"""

from typing import ClassVar


class OcrError(Exception):
    """Base of all errors raised on purpose.

    Attributes:
        code: stable name for programs; part of the API.
        retryable: whether the same request may succeed a little later.
        detail: what happened, in words a caller can act on.
        stage: the stage of the pipeline where it happened, once known.
    """

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, detail: str, *, stage: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.stage = stage


class InvalidRequest(OcrError):
    """The request can't be understood."""

    code = "invalid_request"


class BodyTooLarge(OcrError):
    """The body has more bytes than the limit."""

    code = "body_too_large"


class BodyTimeout(OcrError):
    """The client sent its body too slowly."""

    code = "body_timeout"
    retryable = True


class Unauthenticated(OcrError):
    """There is no API key, or none that is known."""

    code = "unauthenticated"


class Forbidden(OcrError):
    """The client is known, but may not do this."""

    code = "forbidden"


class RateLimited(OcrError):
    """The client's quota is used up.

    Attributes:
        retry_after_s: when there will be some again.
    """

    code = "rate_limited"
    retryable = True

    def __init__(self, detail: str, *, stage: str | None = None, retry_after_s: float = 1.0) -> None:
        super().__init__(detail, stage=stage)
        self.retry_after_s = retry_after_s


class TooManyPages(OcrError):
    """More pages are asked for than are read in one request."""

    code = "too_many_pages"


class ImageError(OcrError):
    """The image can't be served."""


class UnsupportedImage(ImageError):
    """The data is not of an image type that is served; judged by its signature alone."""

    code = "unsupported_image"


class UnreadableImage(ImageError):
    """The data has the signature of a served type, but can't be decoded."""

    code = "unreadable_image"


class ImageTooLarge(ImageError):
    """The header declares more pixels than the limit."""

    code = "image_too_large"


class DecoderFailed(ImageError):
    """The process that decoded the image died, or was stopped because it took too long."""

    code = "decoder_failed"


class DeadlineExceeded(OcrError):
    """The client's own deadline ran out while everything was healthy."""

    code = "deadline_exceeded"
    retryable = True


class Overloaded(OcrError):
    """There is more work than can be done in time."""

    code = "overloaded"
    retryable = True


class Draining(OcrError):
    """The service is shutting down and takes no new work."""

    code = "draining"
    retryable = True


class BackendError(OcrError):
    """The inference server is at fault."""


class InferenceTimeout(BackendError):
    """The inference server did not answer before the deadline."""

    code = "inference_timeout"
    retryable = True


class BackendUnavailable(BackendError):
    """The inference server can't be reached, or a model is not ready."""

    code = "backend_unavailable"
    retryable = True


class OutOfMemory(BackendError):
    """The inference server ran out of memory."""

    code = "out_of_memory"
    retryable = True


class InferenceFailed(BackendError):
    """The model failed, and not for want of memory."""

    code = "inference_failed"
    retryable = True


class UnexpectedOutput(BackendError):
    """The inference server answered something that does not fit the contract."""

    code = "unexpected_output"


class ContractError(OcrError):
    """The served models do not fit together or do not fit the gateway."""

    code = "contract_broken"


class SettingsError(OcrError):
    """A setting is unknown or out of range."""

    code = "bad_settings"
