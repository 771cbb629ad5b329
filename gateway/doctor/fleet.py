"""Whether all Tritons serve the same, and all gateways are of one version."""

import asyncio
from collections.abc import Mapping, Sequence

import httpx
from tritonclient.grpc.service_pb2 import ServerMetadataRequest

from gateway.doctor import service
from gateway.doctor.findings import Verdict, fine, warning
from gateway.doctor.targets import CALL_S, FleetTarget, TritonTarget, WebTarget
from gateway.errors import OcrError
from gateway.inference.contract import Contract, difference
from gateway.inference.failures import translated

FINISH = "finish the rollout, or take it back: one after the other, all the same in the end"


async def check_versions(target: FleetTarget) -> Sequence[Verdict]:
    """Whether there is one version of Triton, and one of the gateway."""
    tritons = await asyncio.gather(*map(_triton_version, target.tritons))
    gateways = await asyncio.gather(*map(_gateway_version, target.gateways))
    addresses = [one.address for one in target.tritons], [one.url for one in target.gateways]
    verdicts: list[Verdict] = []
    for what, where, versions in (("Triton", addresses[0], tritons), ("gateway", addresses[1], gateways)):
        known = {address: version for address, version in zip(where, versions, strict=True) if version}
        if len(set(known.values())) > 1:
            verdicts += warning(f"there are several versions of the {what}", FINISH, _listed(known))
    return verdicts or fine("one version each")


async def check_contracts(target: FleetTarget) -> Sequence[Verdict]:
    """Whether the models of all Tritons take and give the same: classes, charset, shapes."""
    found = await asyncio.gather(*map(_contract, target.tritons))
    known = [(one.address, contract) for one, contract in zip(target.tritons, found, strict=True) if contract]
    if not known:
        return fine("nothing to compare")
    (first, ours), *others = known
    verdicts: list[Verdict] = []
    for address, theirs in others:
        if reason := difference(ours, theirs):
            do = "gateways call those alone that are like the first one: give all the same repository"
            verdicts += warning(f"{address} serves other models than {first}", do, reason)
    return verdicts or fine(f"{len(known)} Tritons serve the same")


async def _triton_version(target: TritonTarget) -> str:
    try:
        async with target.connection() as connection:
            with translated("version"):
                answer = await connection.stub.ServerMetadata(ServerMetadataRequest(), timeout=CALL_S)
    except OcrError:  # its own chain says so
        return ""
    return str(answer.version)


async def _gateway_version(target: WebTarget) -> str:
    try:
        return await service.read_version(target)
    except httpx.HTTPError:  # its own chain says so
        return ""


async def _contract(target: TritonTarget) -> Contract | None:
    try:
        return await target.read_contract()
    except OcrError:  # its own chain says so
        return None


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{address}: {version}" for address, version in versions.items())
