"""`ocr-gateway models`: build, try, release and take back models of Tritons that serve."""

import argparse
import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping

from gateway.errors import OcrError
from gateway.inference.channels import TlsFiles, TritonTls
from gateway.inference.checkup import check_up
from gateway.inference.contract import Contract
from gateway.inference.served_models import ModelNames
from gateway.rollout.golden import Golden, read_folder
from gateway.rollout.release import Refused, Say, Target, deploy, offer, roll_back, verify
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
    except (OcrError, BuildError, ValueError, OSError) as error:
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
    target = Target(options.repository, addresses, os.environ.get(KEY_VARIABLE, ""), _tls(options))
    await ACTIONS[options.action](options, target, say)


async def _deploy(options: argparse.Namespace, target: Target, say: Say) -> None:
    if options.share is not None:
        await offer(options.source, target, _golden(options), say, share=options.share)
        say(f"{options.share:g} % of the requests are read by it, and those with the header X-Ocr-Release: candidate")
        return
    await deploy(options.source, target, _golden(options), say)
    say("released; `ocr-gateway models rollback` takes it back")


async def _verify(options: argparse.Namespace, target: Target, say: Say) -> None:
    await verify(options.source, target, _golden(options), say)
    say("it may be released")


async def _rollback(_: argparse.Namespace, target: Target, say: Say) -> None:
    await roll_back(target, say)
    say("as it was before the last release, or before the candidate")


async def _status(_: argparse.Namespace, target: Target, say: Say) -> None:
    folder = releases.summary(target.repository)
    for name, versions in folder:
        say(f"{name}: {', '.join(map(str, versions))}")
    can_go_back = releases.before_of(target.repository).is_dir()
    say(f"a release that can be taken back: {'yes' if can_go_back else 'none'}")
    if what := releases.unfinished(target.repository):
        say(f"unfinished: a {what} was interrupted; rollback goes back on every Triton, deploy releases after that")
    newest = {name: str(versions[-1]) for name, versions in folder}
    for address in target.addresses:
        say(f"{address}: {await _health(address, target, newest)}")
        if releases.candidates_of(target.repository):
            say(f"{address}: the candidate: {await _candidates_health(address, target)}")


async def _health(address: str, target: Target, newest: Mapping[str, str]) -> str:
    """Whether the models work, and which are not those that the folder has."""
    try:
        versions = versions_in(await check_up(address, tls=target.tls))
    except OcrError as error:
        return error.detail
    stayed = [f"{name} is at {version}" for name, version in versions.items() if newest.get(name) != version]
    return f"its models work{', but do not follow the folder: ' if stayed else ''}{', '.join(stayed)}"


async def _candidates_health(address: str, target: Target) -> str:
    names = ModelNames(*(f"{releases.CANDIDATE}{name}" for name in (ModelNames().detection, ModelNames().recognition)))
    try:
        contract = await check_up(address, names=names, tls=target.tls)
    except OcrError as error:
        return error.detail
    share = contract.share
    return "works" + (", and nobody is told of it" if share is None else f", and reads {share:g} % of the requests")


def versions_in(contract: Contract) -> dict[str, str]:
    """The version of each model."""
    detection = {model.name: model.version for model in contract.detection.models}
    return detection | {model.name: model.version for model in contract.recognition.models}


def _tls(options: argparse.Namespace) -> TritonTls | None:
    """What the options say of certificates.

    Raises:
        ValueError: some are of no use without others.
        OSError: a file can't be read.
    """
    authorities, certificate, key, name = (
        options.triton_ca,
        options.triton_certificate,
        options.triton_key,
        options.triton_server_name,
    )
    if (certificate is None) is not (key is None):
        raise ValueError("--triton-certificate and --triton-key go together")
    if authorities is None:
        if certificate or name:
            raise ValueError("--triton-certificate, --triton-key and --triton-server-name need --triton-ca")
        return None
    return TlsFiles(authorities, certificate, key, name).read()


def _golden(options: argparse.Namespace) -> list[Golden]:
    return read_folder(options.golden)


ACTIONS: dict[str, Callable[[argparse.Namespace, Target, Say], Coroutine[None, None, None]]] = {
    "deploy": _deploy,
    "verify": _verify,
    "rollback": _rollback,
    "status": _status,
}
