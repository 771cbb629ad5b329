"""The gRPC channel to Triton, with the arguments that decide how a hang, a restart or a large message turns out.

`grpc.aio` with Triton's generated stub, and not `tritonclient.grpc.aio`: see docs/decisions/0005-the-generated-stub.md.
Each server has a channel of its own: see docs/decisions/0013-a-channel-per-server.md.
"""

from dataclasses import dataclass
from pathlib import Path

import grpc
from tritonclient.grpc.service_pb2 import ModelInferResponse
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub


@dataclass(frozen=True, slots=True)
class ChannelOptions:
    """How the connection behaves. Not settings: the defaults were measured by injecting the faults.

    Attributes:
        keepalive_s: how long a connection with calls in flight may be silent before it is pinged.
        ping_timeout_s: how long the answer to a ping may take; then the connection is dead. Heartbeats notice a hang
            sooner; this is for a network that has lost the connection. A hang that is over before has lost nothing.
        connect_timeout_s: how long one try to connect may take.
        first_backoff_s, max_backoff_s: pause between two tries to connect.
    """

    keepalive_s: float = 2.0
    ping_timeout_s: float = 10.0
    connect_timeout_s: float = 1.0
    first_backoff_s: float = 0.1
    max_backoff_s: float = 0.25

    def arguments(self) -> tuple[tuple[str, int], ...]:
        """The channel arguments, each for a reason."""
        return (
            # The gateway bounds images and chunks itself; gRPC's limit of 4 MB is below one original model's answer.
            ("grpc.max_send_message_length", -1),
            ("grpc.max_receive_message_length", -1),
            # A stopped server keeps its connections. Without the ping timeout, keepalive alone does not notice.
            ("grpc.keepalive_time_ms", _milliseconds(self.keepalive_s)),
            ("grpc.keepalive_timeout_ms", _milliseconds(self.ping_timeout_s)),
            ("grpc.http2.ping_timeout_ms", _milliseconds(self.ping_timeout_s)),
            # gRPC's own backoff grows to two minutes: after an outage of 40 s, a server that was back stayed unused for
            # 20 s. Its "minimum" is the time that one try may take.
            ("grpc.initial_reconnect_backoff_ms", _milliseconds(self.first_backoff_s)),
            ("grpc.min_reconnect_backoff_ms", _milliseconds(self.connect_timeout_s)),
            ("grpc.max_reconnect_backoff_ms", _milliseconds(self.max_backoff_s)),
            # Channels to one address share a connection and its backoff by default, even with one that was closed.
            ("grpc.use_local_subchannel_pool", 1),
            # http_proxy in the environment is for the outside world.
            ("grpc.enable_http_proxy", 0),
        )


@dataclass(frozen=True, slots=True)
class TritonTls:
    """How connections are encrypted, and who proves what. All are PEM.

    Attributes:
        authorities: certificates of those who may have signed Triton's.
        certificate, key: the gateway's own, where Triton asks for one.
        server_name: that Triton's certificate is for; empty: its host in the address.
    """

    authorities: bytes
    certificate: bytes | None = None
    key: bytes | None = None
    server_name: str = ""

    def credentials(self) -> grpc.ChannelCredentials:
        """For a channel."""
        return grpc.ssl_channel_credentials(self.authorities, self.key, self.certificate)

    def arguments(self) -> tuple[tuple[str, str], ...]:
        """Further channel arguments."""
        return (("grpc.ssl_target_name_override", self.server_name),) if self.server_name else ()


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files, as the settings OCR_TRITON_* name them.

    Attributes:
        authorities: certificates of those who may have signed Triton's.
        certificate, key: the gateway's own, if Triton wants one.
        server_name: that Triton's certificate is for; empty: its host.
    """

    authorities: Path
    certificate: Path | None = None
    key: Path | None = None
    server_name: str = ""

    def read(self) -> TritonTls:
        """What they contain; OSError if one can't be read."""
        return TritonTls(
            self.authorities.read_bytes(),
            self.certificate.read_bytes() if self.certificate else None,
            self.key.read_bytes() if self.key else None,
            self.server_name,
        )


class TritonConnection:
    """A channel to Triton and the stub that calls through it; to be opened on a running event loop.

    Attributes:
        stub: one callable per RPC; each call needs a `timeout`, gRPC's default is for ever. `ModelInfer` takes a
            request that is encoded already (`gateway.inference.messages`).
    """

    def __init__(self, address: str, tls: TritonTls | None = None) -> None:
        """Connects on the first call, not now."""
        arguments = ChannelOptions().arguments()
        if tls is None:
            self._channel = grpc.aio.insecure_channel(address, arguments)
        else:
            self._channel = grpc.aio.secure_channel(address, tls.credentials(), (*arguments, *tls.arguments()))
        self.stub = GRPCInferenceServiceStub(self._channel)
        self.stub.ModelInfer = self._channel.unary_unary(
            "/inference.GRPCInferenceService/ModelInfer", response_deserializer=ModelInferResponse.FromString
        )

    async def close(self, grace_s: float | None = None) -> None:
        """Disconnect, after the calls in flight have ended or `grace_s` have passed; None cancels them."""
        await self._channel.close(grace_s)


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)
