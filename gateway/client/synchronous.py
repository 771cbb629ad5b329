"""The client that blocks."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import httpx

from gateway.client.patience import Option, Outcome, Patience
from gateway.client.requests import DEFAULT_TIMEOUT_S, headers_of, is_local, parse
from gateway.web.capabilities import CapabilitiesOut
from gateway.web.schemas import OcrOut


class Client:
    """Asks one gateway; use it as a context manager, or close it.

    Args:
        url: of the gateway.
        api_key: if the service wants one.
        batch: give way to interactive requests.
        timeout_s: for one answer, waits and further attempts included.
        transport, sleep: for tests.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str = "",
        batch: bool = False,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        headers = headers_of(api_key, batch=batch)
        self._http = httpx.Client(base_url=url, headers=headers, transport=transport, trust_env=not is_local(url))
        self._timeout_s = timeout_s
        self._sleep = sleep

    def read(self, data: bytes, **options: Option) -> OcrOut:
        """What a file says; `options` as in docs/api.md.

        Raises:
            ClientError: there is no answer.
        """
        return parse(OcrOut, self._post(data, {**options, "format": "json"}))

    def write(self, data: bytes, form: str, **options: Option) -> bytes:
        """The same in another format, by its name.

        Raises:
            ClientError: there is no answer.
        """
        return self._post(data, {**options, "format": form}).content

    def capabilities(self) -> CapabilitiesOut:
        """What the service can do.

        Raises:
            ClientError: there is no answer.
        """
        patience = Patience(self._timeout_s)
        response = self._insist(patience, lambda: self._http.get("/v1/capabilities", timeout=patience.remaining_s))
        return parse(CapabilitiesOut, response)

    def _post(self, data: bytes, options: dict[str, Option]) -> httpx.Response:
        patience = Patience(self._timeout_s)

        def attempt() -> httpx.Response:
            parameters = patience.parameters(options)
            return self._http.post("/v1/ocr", content=data, params=parameters, timeout=patience.remaining_s)

        return self._insist(patience, attempt)

    def _insist(self, patience: Patience, attempt: Callable[[], httpx.Response]) -> httpx.Response:
        while True:
            outcome: Outcome
            try:
                outcome = attempt()
            except httpx.TransportError as error:
                outcome = error
            wait_s = patience.wait_s(outcome)
            if wait_s is None:
                assert isinstance(outcome, httpx.Response)
                return outcome
            self._sleep(wait_s)

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
