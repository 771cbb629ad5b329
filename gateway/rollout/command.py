"""`ocr-gateway models`: build, try, release and take back models of Tritons that serve."""

import argparse
import asyncio
import os
from collections.abc import Callable, Coroutine

from gateway.errors import OcrError
from gateway.inference.checkup import check_up
from gateway.rollout.golden import Golden, read_folder
from gateway.rollout.release import Refused, Say, Target, deploy, roll_back, verify
from triton_models import releases
from triton_models.errors import BuildError

GOOD, FAILED, REFUSED = 0, 1, 3
"""Exit codes."""

KEY_VARIABLE = "TRITON_ADMIN_KEY"
"""Others see a command's arguments, so the key is none."""


def run(options: argparse.Namespace, say: Say) -> int:
    """Do what was asked for; the exit code."""
    if options.action in {"list", "build"}:
        return _run_builder([options.action, *options.rest], say)
    try:
        asyncio.run(_act(options, say))
    except Refused as error:
        say(str(error))
        return REFUSED
    except (OcrError, BuildError, ValueError) as error:
        say(f"ocr-gateway models: {error}")
        return FAILED
    return GOOD


def _run_builder(arguments: list[str], say: Say) -> int:
    """The builder; it needs packages that an image of the gateway does not have."""
    try:
        from triton_models.__main__ import main  # noqa: PLC0415 - as above
    except ImportError as error:
        say(f"ocr-gateway models: building needs the extra `models` ({error}); deploy/docker has an image for it")
        return FAILED
    return main(arguments)


async def _act(options: argparse.Namespace, say: Say) -> None:
    addresses = tuple(address.strip() for address in options.triton.split(","))
    target = Target(options.repository, addresses, os.environ.get(KEY_VARIABLE, ""))
    await ACTIONS[options.action](options, target, say)


async def _deploy(options: argparse.Namespace, target: Target, say: Say) -> None:
    await deploy(options.source, target, _golden(options), say)
    say("released; `ocr-gateway models rollback` takes it back")


async def _verify(options: argparse.Namespace, target: Target, say: Say) -> None:
    await verify(options.source, target, _golden(options), say)
    say("it may be released")


async def _rollback(_: argparse.Namespace, target: Target, say: Say) -> None:
    await roll_back(target, say)
    say("as it was before")


async def _status(_: argparse.Namespace, target: Target, say: Say) -> None:
    for name, versions in releases.summary(target.repository):
        say(f"{name}: {', '.join(map(str, versions))}")
    can_go_back = releases.before_of(target.repository).is_dir()
    say(f"a release that can be taken back: {'yes' if can_go_back else 'none'}")
    for address in target.addresses:
        say(f"{address}: {await _health(address)}")


async def _health(address: str) -> str:
    try:
        await check_up(address)
    except OcrError as error:
        return error.detail
    return "its models work"


def _golden(options: argparse.Namespace) -> list[Golden]:
    return read_folder(options.golden)


ACTIONS: dict[str, Callable[[argparse.Namespace, Target, Say], Coroutine[None, None, None]]] = {
    "deploy": _deploy,
    "verify": _verify,
    "rollback": _rollback,
    "status": _status,
}
