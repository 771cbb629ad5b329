"""Whether a Triton serves the right models, whether they run, and whether they read rightly.

Its own health stays green when a model's process has died, so it is asked only to be compared with what it does.
"""

from collections.abc import Mapping, Sequence

from tritonclient.grpc.service_pb2 import ServerReadyRequest

from gateway.canary import KNOWN_PICTURE, KNOWN_TEXT
from gateway.doctor.findings import Verdict, error, fine, warning
from gateway.doctor.targets import CALL_S, TritonTarget
from gateway.errors import OcrError, Overloaded
from gateway.inference.contract import Contract
from gateway.inference.endpoints import Endpoint
from gateway.inference.failures import (
    DEAD,
    NO_ANSWER,
    NO_MEMORY,
    NO_SIGN_OF_LIFE,
    Meaning,
    foreign_text,
    meaning_behind,
    translated,
)
from gateway.inference.probes import Probe, choose_probes
from gateway.inference.triton import TritonBackend
from gateway.rollout.golden import Golden
from gateway.rollout.reading import read_with
from triton_models.catalog import MODEL_SETS

MODEL_S = 5.0
"""How long a model may take over a tiny input, with the wait for its turn."""

REBUILD = "build the repository again (ocr-gateway models build), and have Triton load it"
ADVICE: Mapping[Meaning | None, str] = {
    DEAD: "restart Triton: nothing in it starts the process of a model again",
    NO_ANSWER: "see what the model does (py-spy dump, nvidia-smi), and restart Triton, whose health shows nothing",
    NO_SIGN_OF_LIFE: "Triton hangs: restart it",
    NO_MEMORY: "give Triton more memory, or fewer instances; see the operations document, Out of memory",
}
"""What to do about a model that fails, by what its failure means."""
LOOK = "look into Triton's log for the model's own words; a release that was just made can be taken back"


async def check_contract(target: TritonTarget) -> Sequence[Verdict]:
    """Whether the models are there, and take and give what the gateway sends and expects."""
    contract = await target.read_contract()
    return fine(f"{contract.model_set}: {', '.join(_names(contract))}")


async def check_charset(target: TritonTarget) -> Sequence[Verdict]:
    """Whether there are as many texts as the model set has classes; one too few shifts or loses characters."""
    contract = await target.read_contract()
    known = MODEL_SETS.get(contract.model_set)
    count = len(contract.recognition.charset)
    if known is None:
        return fine(f"{count} classes; {contract.model_set} is not in the catalog, so nothing is known to compare")
    if count != known.classes:
        return error(f"the charset has {count} classes, but {contract.model_set} knows {known.classes}", REBUILD)
    return fine(f"{count} classes")


async def check_inference(target: TritonTarget) -> Sequence[Verdict]:
    """Whether every model runs on a tiny input, whatever Triton says of itself."""
    ready = await _says_ready(target)
    async with target.endpoint() as endpoint:
        contract = await endpoint.read_contract()
        probes = choose_probes(contract, doubted=_names(contract))
        failures = [verdict for probe in probes for verdict in await _run(endpoint, probe, ready=ready)]
    if failures:
        return failures
    if not ready:
        do = "look into its log for a model or version that did not load; --strict-readiness=false is meant for this"
        return warning("the models work, but Triton says that it is not ready", do)
    return fine(f"{len(probes)} models run")


async def check_reading(target: TritonTarget) -> Sequence[Verdict]:
    """Whether the known picture is read rightly by this very Triton."""
    backend = await TritonBackend.connect(
        target.address,
        detection_model=target.names.detection,
        recognition_model=target.names.recognition,
        timeout_s=CALL_S,
        tls=target.tls.read() if target.tls else None,
    )
    try:
        (reading,) = await read_with(backend, [Golden("known picture", KNOWN_PICTURE, KNOWN_TEXT)])
    finally:
        await backend.close()
    if reading.text == KNOWN_TEXT:
        return fine("the known picture is read correctly")
    do = f"the models or their charset are not what they should be: {REBUILD}"
    return error("the known picture is read wrongly", do, f"{reading.text!r}, not {KNOWN_TEXT!r}")


async def _says_ready(target: TritonTarget) -> bool:
    async with target.connection() as connection:
        with translated("readiness"):
            answer = await connection.stub.ServerReady(ServerReadyRequest(), timeout=CALL_S)
    return bool(answer.ready)


async def _run(endpoint: Endpoint, probe: Probe, *, ready: bool) -> Sequence[Verdict]:
    says = "Triton says that it is ready, but " if ready else ""
    try:
        probe.check(await endpoint.call(probe.request(), timeout_s=MODEL_S))
    except Overloaded as failure:
        return warning(failure.detail, "it has more to do than it can: see `triton-queue`", foreign_text(failure))
    except OcrError as failure:
        do = ADVICE.get(meaning_behind(failure), LOOK)
        return error(f"{says}{failure.detail}", do, foreign_text(failure))
    return []


def _names(contract: Contract) -> list[str]:
    detection, recognition = contract.detection.models, contract.recognition.models
    return [*(model.name for model in detection), *(model.name for model in recognition)]
