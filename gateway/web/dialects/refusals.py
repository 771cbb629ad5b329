"""Says problems in the words of the dialect that was spoken, wherever they come from: a route, admission, a bug."""

from pydantic_core import to_json
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.web.dialects.dialect import Dialect
from gateway.web.dialects.table import dialect_at
from gateway.web.problems import MEDIA_TYPE, Problem


class SpeakDialect:
    """A layer that turns problem documents on the addresses of dialects into what their clients know."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI's entry."""
        dialect = dialect_at(scope) if scope["type"] == "http" else None
        await self.app(scope, receive, _Translator(dialect, send) if dialect else send)


class _Translator:
    """A `send` that holds a problem back until it is complete; everything else passes."""

    def __init__(self, dialect: Dialect, send: Send) -> None:
        self._dialect = dialect
        self._send = send
        self._held: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_problem(message):
            self._held = message
        elif self._held is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._translate(self._held)

    async def _translate(self, start: Message) -> None:
        refusal = self._dialect.refuse(Problem.model_validate_json(self._body))
        body = to_json(refusal.content)
        headers = MutableHeaders(scope=start)
        headers["Content-Type"], headers["Content-Length"] = "application/json", str(len(body))
        await self._send({**start, "status": refusal.status, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})


def _is_problem(start: Message) -> bool:
    return MutableHeaders(scope=start).get("content-type", "") == MEDIA_TYPE
