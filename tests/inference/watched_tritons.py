"""Fake Tritons with small models, a backend that watches them closely, and waiting for what it finds out."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import numpy as np
from fake_triton import FakeTriton, ModelFailure, blanks, input_of, listening
from made_configs import detection_config, recognition_config
from prometheus_client import REGISTRY

from gateway.inference.triton import TritonBackend
from gateway.inference.watching import WatchOptions

IMAGE = np.zeros((64, 64, 3), np.uint8)
NEVER = 10**9
"""Ticks: a busy machine must not look like a silent server, where silence is not what a test is about."""


async def blue(request):
    """A detector whose map is the blue channel."""
    return {"probability_map": input_of(request)[..., 0]}


def failing(code, text, *, after_s=0.0):
    async def model(request):
        await asyncio.sleep(after_s)
        raise ModelFailure(code, text)

    return model


def small_triton(**parameters):
    configs = detection_config(), recognition_config(**parameters)
    return FakeTriton({one.name: one for one in configs}, {"text_detection": blue, "text_recognition": blanks})


def closely(*, quiet_ticks=NEVER, silent_ticks=NEVER, probe_interval_s=0.02, probe_timeout_s=5.0, last_look_s=0.01):
    return WatchOptions(
        beat_s=0.02,
        quiet_ticks=quiet_ticks,
        silent_ticks=silent_ticks,
        beat_timeout_s=5.0,
        probe_interval_s=probe_interval_s,
        second_look_s=0.01,
        return_interval_s=0.02,
        probe_timeout_s=probe_timeout_s,
        last_look_s=last_look_s,
        return_timeout_s=60.0,
        look_up_interval_s=0.02,
    )


@asynccontextmanager
async def backend_on(*tritons, watch=None, **choices):
    """A backend on these, once all serve or differ."""
    async with AsyncExitStack() as stack:
        addresses = [await stack.enter_async_context(listening(triton)) for triton in tritons]
        backend = await TritonBackend.connect(",".join(addresses), watch=watch or closely(), **choices)
        stack.push_async_callback(backend.close)
        await eventually(lambda: all(one.state in ("serving", "differing") for one in backend.endpoints))
        yield backend


async def eventually(condition):
    """Wait until it holds; the test's own time limit ends it if it never does."""
    while not condition():  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(0.005)


def states(backend):
    return [endpoint.state for endpoint in backend.endpoints]


def metric(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0.0
