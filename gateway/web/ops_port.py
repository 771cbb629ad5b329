"""A port for operators alone: metrics and documents are there, and no longer where clients are.

Both ports lead to one application. What is asked for, and the port that it came to, decide whether it is there.
"""

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.web.problems import problem_response

_OPERATORS = ("/metrics", "/docs", "/openapi.json")
_EVERYBODY = ("/livez", "/readyz", "/problems")


class SeparatePorts:
    """Answers 404 to what belongs to the other port.

    Args:
        app: what is behind it.
        ops_port: the port for operators.
    """

    def __init__(self, app: ASGIApp, *, ops_port: int) -> None:
        self.app = app
        self._ops_port = ops_port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI's entry."""
        if scope["type"] != "http" or is_there(scope["path"], ops=scope["server"][1] == self._ops_port):
            await self.app(scope, receive, send)
        else:
            answer = problem_response(Request(scope), "not_found", "there is nothing at this address on this port")
            await answer(scope, receive, send)


def is_there(path: str, *, ops: bool) -> bool:
    """Whether there is anything at this path, on the port for operators or on the other one."""
    first = "/" + path.split("/", 2)[1] if path.startswith("/") else path
    return first in _EVERYBODY or (first in _OPERATORS) is ops
