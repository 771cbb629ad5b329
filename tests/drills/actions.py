"""What faults do to a stand, and what ends them."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import httpx
import psutil

from tests.drills.errors import DrillError
from tests.drills.processes import read_log, read_samples, send_signal, wait_until
from tests.drills.proxy import WIRE, Behaviour
from tests.drills.repositories import RECOGNITION
from tests.drills.stand import Node, Stand
from triton_models.server import LOOPBACK

Action = Callable[[Stand], Awaitable[None]]

STUB = "triton_python_backend_stub"
TRAFFIC_TIMEOUT_S = 30.0
RESTART_TIMEOUT_S = 60.0
SAID_TIMEOUT_S = 10.0
CALM_BEFORE_S = 1.0
"""Whatever a fault is done to is older than this."""
ANSWERED = "nv_inference_request_success_total"
"""Triton has it without `_total`, which the parser adds to names of counters."""
TRAFFIC = 5
"""So many answers of a server that has returned are traffic; a few may be the gateways' probes."""


async def nothing(_: Stand) -> None:
    """For faults that end by themselves, and for a drill without one."""


def signal_triton(number: int) -> Action:
    """Send a signal to the first Triton; its models' processes are left alone."""

    async def act(stand: Stand) -> None:
        send_signal(stand.triton_pid, number)

    return act


async def restart_triton(stand: Stand) -> None:
    """Start the first Triton again."""
    await stand.node.restart()


async def await_supervisor(stand: Stand) -> None:
    """Wait until the supervisor of the pair has started another Triton and the gateway is ready; or for too long."""
    began_at = time.time()

    async def is_restarted() -> bool:
        with suppress(DrillError, psutil.NoSuchProcess):
            return psutil.Process(stand.triton_pid).create_time() > began_at - CALM_BEFORE_S
        return False

    with suppress(DrillError):  # the limits say so
        await wait_until(is_restarted, RESTART_TIMEOUT_S, "Triton is not restarted")
        await wait_until(stand.gateway.is_ready, RESTART_TIMEOUT_S, "the pair is not ready again")


async def restart_and_see_traffic(stand: Stand) -> None:
    """Start the first Triton again, and note how long it takes from there until gateways use it."""
    await stand.node.restart()
    ready_at = time.monotonic()

    async def is_used() -> bool:
        with suppress(httpx.TransportError):  # a Triton opens its metrics last
            return await answers_of(stand.node) >= TRAFFIC
        return False

    with suppress(DrillError):  # the limit says so
        await wait_until(is_used, TRAFFIC_TIMEOUT_S, "the Triton that is back has no traffic")
        stand.noted["traffic_s"] = time.monotonic() - ready_at


async def answers_of(node: Node) -> float:
    """How many calls for lines it has answered since its start."""
    url = f"http://{LOOPBACK}:{node.server.ports.metrics}/metrics"
    samples = await read_samples(url, ANSWERED)
    return sum(sample.value for sample in samples if sample.labels["model"] == RECOGNITION)


async def kill_stub(stand: Stand) -> None:
    """Kill the process that runs the first Triton's recogniser; the server itself stays well."""
    children = psutil.Process(stand.triton_pid).children(recursive=True)
    stubs = [child for child in children if STUB in child.name() or STUB in " ".join(child.cmdline())]
    of_model = [stub for stub in stubs if any(RECOGNITION in word for word in stub.cmdline())]
    if len(of_model) != 1:
        raise DrillError(f"{len(of_model)} of {len(stubs)} stubs run {RECOGNITION}")
    send_signal(of_model[0].pid, signal.SIGKILL)


def spoil_model(**fault: object) -> Action:
    """Make the runs of the first Triton's recogniser go wrong (see `faulty_backend`)."""

    async def act(stand: Stand) -> None:
        stand.node.repository.spoil(RECOGNITION, **fault)

    return act


async def mend_model(stand: Stand) -> None:
    """Let them be right again."""
    stand.node.repository.mend(RECOGNITION)


async def mend_memory(stand: Stand) -> None:
    """The same, after noting how often a bucket ran out of memory.

    Raises:
        DrillError: none did; the chunks were too small for this fault.
    """
    await mend_model(stand)
    splits = [sample.value for sample in await stand.gateway.samples("ocr_oom_splits_total")]
    if not splits:
        raise DrillError("no call ran out of memory")
    stand.noted["splits_of_a_bucket"] = max(splits)


def load_version(version: int, *, broken: bool) -> Action:
    """Put a further version of the recogniser into the repository and have Triton load it."""

    async def act(stand: Stand) -> None:
        stand.node.repository.add_version(RECOGNITION, version, broken=broken)
        await load(stand.node, expect_failure=broken)

    return act


def withdraw_version(version: int) -> Action:
    """Take the version out of the repository again, and have Triton notice."""

    async def act(stand: Stand) -> None:
        stand.node.repository.remove_version(RECOGNITION, version)
        await load(stand.node, expect_failure=False)

    return act


async def break_configuration(stand: Stand) -> None:
    """Spoil the recogniser's configuration and have Triton load it."""
    repository = stand.node.repository
    repository.configure({file: text + "\nbogus: 1\n" for file, text in repository.configurations(RECOGNITION).items()})
    await load(stand.node, expect_failure=True)


async def mend_configuration(stand: Stand) -> None:
    """Put it right, and have Triton load it."""
    repository = stand.node.repository
    texts = repository.configurations(RECOGNITION)
    repository.configure({file: text.removesuffix("\nbogus: 1\n") for file, text in texts.items()})
    await load(stand.node, expect_failure=False)


async def load(node: Node, *, expect_failure: bool) -> None:
    """Have a Triton load the recogniser as it lies in the repository.

    Raises:
        DrillError: it did so although it should not be able to, or the other way round.
    """
    async with httpx.AsyncClient(trust_env=False, timeout=60.0) as client:
        url = f"http://{LOOPBACK}:{node.server.ports.http}/v2/repository/models/{RECOGNITION}/load"
        answer = await client.post(url)
    if answer.is_success == expect_failure:
        raise DrillError(f"loading {RECOGNITION} answered {answer.status_code} {answer.text}")


def treat_connections(behaviour: Behaviour) -> Action:
    """Make the way to the first Triton bad."""

    async def act(stand: Stand) -> None:
        assert stand.node.proxy is not None, "the plan has no proxies"
        stand.node.proxy.behave(behaviour)

    return act


mend_connections = treat_connections(WIRE)


def signal_gateway(number: int) -> Action:
    """Send a signal to the first gateway."""

    async def act(stand: Stand) -> None:
        stand.gateway.signal(number)

    return act


async def restart_gateway(stand: Stand) -> None:
    """Wait for the end of the first gateway, start it again, and note how long both took, and its exit code."""
    asked_at = time.monotonic()
    process = stand.gateway.life.process
    stand.noted["exit_code"] = abs(await asyncio.to_thread(process.wait, 60.0))
    stand.noted["exit_s"] = time.monotonic() - asked_at
    ended_at = time.monotonic()
    stand.gateway.start()
    await stand.gateway.wait_ready()
    stand.noted["start_s"] = time.monotonic() - ended_at


async def await_watchdog(stand: Stand) -> None:
    """Do what systemd does with a gateway that stands still: lose patience, kill it and start it again."""
    assert stand.watchdog is not None
    await stand.watchdog.lose_patience()
    stand.gateway.signal(signal.SIGKILL)
    await restart_gateway(stand)


async def fill_disk(stand: Stand) -> None:
    """From now on the first gateway's log can't grow, nor can any other file that it writes."""
    size = stand.gateway.life.log_file.stat().st_size
    stand.noted["log_bytes"] = size
    stand.gateway.limit_file_size(size)


async def free_disk(stand: Stand) -> None:
    """Let files grow again, and note how long it takes until the log says what is missing.

    Raises:
        DrillError: the log has grown meanwhile.
    """
    if stand.gateway.life.log_file.stat().st_size != stand.noted["log_bytes"]:
        raise DrillError("the log grew although the disk was full")
    stand.gateway.limit_file_size(1 << 30)
    freed_at = time.monotonic()

    async def is_said() -> bool:
        return any("unwritten_before" in line for line in read_log(stand.gateway.life.log_file))

    with suppress(DrillError):  # the limit says so
        await wait_until(is_said, SAID_TIMEOUT_S, "the log does not say what is missing")
        stand.noted["said_s"] = time.monotonic() - freed_at
