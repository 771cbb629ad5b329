"""A client of a gateway, for programs in Python; `ocr-gateway read` is made of it.

    with Client("http://127.0.0.1:8080") as client:
        answer = client.read(data, level="word")
        pdf = client.write(data, "pdf")

`AsyncClient` has the same methods to await. Both wait as long as the service asks for (Retry-After) and try again while
there is time; what finally goes wrong is a `ClientError`. A client may be shared by threads or tasks.
"""

from gateway.client.asynchronous import AsyncClient
from gateway.client.errors import ClientError, NoAnswer, Problem
from gateway.client.patience import Option
from gateway.client.synchronous import Client

__all__ = ["AsyncClient", "Client", "ClientError", "NoAnswer", "Option", "Problem"]
