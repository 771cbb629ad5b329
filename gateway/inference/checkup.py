"""Whether a Triton works, found out in the only way that tells: by running its models on the smallest input.

Its own health stays green when a model's process has died (docs/operations.md). Whether the models read rightly is
another question, which `gateway.canary` asks.
"""

from contextlib import suppress

from gateway.errors import Overloaded
from gateway.inference.channels import TritonTls
from gateway.inference.contract import Contract
from gateway.inference.endpoints import Endpoint
from gateway.inference.probes import choose_probes
from gateway.inference.served_models import ModelNames


async def check_up(
    address: str,
    *,
    names: ModelNames = ModelNames(),  # noqa: B008 - frozen
    answer_s: float = 2.0,
    finish_s: float = 20.0,
    tls: TritonTls | None = None,
) -> Contract:
    """What the models are, if both run; on a connection of its own.

    Args:
        address: host:port of Triton's gRPC API.
        names: of its models.
        answer_s: how long a question may take that needs no model; a busy server answers as quickly as an idle one.
        finish_s: how long a model may take, with the wait for its turn; a busy server lets everybody wait.
        tls: how the connection is encrypted, if it is.

    Raises:
        OcrError: one does not, and why.
    """
    endpoint = Endpoint(address, names, timeout_s=answer_s, changed=lambda: None, tls=tls)
    try:
        contract = await endpoint.read_contract()
        with suppress(Overloaded):  # no fault of the models, and a restart would mend nothing
            await _run_models(endpoint, contract, finish_s)
        return contract
    finally:
        await endpoint.close()


async def _run_models(endpoint: Endpoint, contract: Contract, finish_s: float) -> None:
    for probe in choose_probes(contract, doubted=()):
        probe.check(await endpoint.call(probe.request(), timeout_s=finish_s))
