"""A stand-in for Triton that answers from memory what Triton has answered before.

It passes on every gRPC call as it comes, bytes for bytes, and keeps the answers to inferences by what was asked. So a
page that is read again costs what it costs the gateway, on the wire and behind it, but next to nothing for models:
the gateway's own cost can be measured on a machine that the models would fill.

    python -m loadtest.stages.remembering TRITON_ADDRESS PORT
"""

import asyncio
import hashlib
import sys

import grpc
from tritonclient.grpc.service_pb2 import ModelInferRequest, ModelInferResponse

INFERENCE = "/inference.GRPCInferenceService/ModelInfer"
UNLIMITED = (("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1))
PATIENT = (
    ("grpc.http2.min_ping_interval_without_data_ms", 250),
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.keepalive_permit_without_calls", 1),
)
"""The gateway pings more often than gRPC servers put up with."""
CALL_TIMEOUT_S = 600.0


class Remembering(grpc.GenericRpcHandler):
    """Passes calls on to a server, and remembers its answers to inferences."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._answers: dict[bytes, bytes] = {}

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        """Every method there is, without looking at its messages."""
        method = details.method
        call = self._channel.unary_unary(method)

        async def answer(request: bytes, _: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
            if method != INFERENCE:
                return await call(request, timeout=CALL_TIMEOUT_S)
            asked = question(request)
            if asked not in self._answers:
                self._answers[asked] = without_id(await call(request, timeout=CALL_TIMEOUT_S))
            return self._answers[asked]

        return grpc.unary_unary_rpc_method_handler(answer)


def question(request: bytes) -> bytes:
    """What is asked, whoever asks."""
    message = ModelInferRequest.FromString(request)
    return hashlib.blake2b(
        message.model_name.encode()
        + str([list(one.shape) for one in message.inputs]).encode()
        + b"".join(message.raw_input_contents)
    ).digest()


def without_id(response: bytes) -> bytes:
    """The answer, to nobody in particular."""
    message = ModelInferResponse.FromString(response)
    message.ClearField("id")
    return message.SerializeToString()


async def serve(triton: str, port: int) -> None:
    """Serve until the process is ended."""
    async with grpc.aio.insecure_channel(triton, UNLIMITED) as channel:
        server = grpc.aio.server(options=(*UNLIMITED, *PATIENT))
        server.add_generic_rpc_handlers((Remembering(channel),))
        server.add_insecure_port(f"127.0.0.1:{port}")
        await server.start()
        await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
