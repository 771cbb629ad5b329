"""`ocr-gateway doctor`: from what was asked for to what is looked at, and printed."""

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gateway.doctor import report, table
from gateway.doctor.examination import Chain, examine_all
from gateway.doctor.exposure import is_loopback
from gateway.doctor.findings import Finding
from gateway.doctor.pages import MetricsPage
from gateway.doctor.targets import FleetTarget, MachineTarget, TritonTarget, WebTarget
from gateway.doctor.triton_log import TritonLog
from gateway.errors import SettingsError
from gateway.inference.addresses import look_up, parse_addresses
from gateway.inference.channels import TlsFiles
from gateway.inference.served_models import ModelNames
from gateway.settings import Settings

Say = Callable[[str], None]

GRPC_PORT, HTTP_PORT, METRICS_PORT = 8001, 8000, 8002
"""Triton's own defaults."""


@dataclass(frozen=True, slots=True)
class System:
    """Everything that is to be looked at.

    Attributes:
        tritons, gateways: by their addresses; one that DNS does not know is among the Tritons, too.
        triton_http, triton_metrics, gateway_metrics: pages and APIs over HTTP.
        logs: of Tritons.
        pids: of processes on this machine.
    """

    tritons: tuple[TritonTarget, ...] = ()
    gateways: tuple[WebTarget, ...] = ()
    triton_http: tuple[WebTarget, ...] = ()
    triton_metrics: tuple[WebTarget, ...] = ()
    gateway_metrics: tuple[WebTarget, ...] = ()
    logs: tuple[Path, ...] = ()
    pids: tuple[int, ...] = ()

    def chains(self) -> list[Chain[Any]]:
        """What is asked of each."""
        return [
            *(Chain(f"triton {one.address}", one, table.TRITON) for one in self.tritons),
            *(Chain(f"triton's HTTP {one.url}", one, table.TRITON_HTTP) for one in self.triton_http),
            *(
                Chain(f"triton's metrics {one.url}", MetricsPage(one), table.TRITON_METRICS)
                for one in self.triton_metrics
            ),
            *(Chain(f"triton's log {one}", TritonLog(one), table.TRITON_LOG) for one in self.logs),
            *(Chain(f"gateway {one.url}", one, table.GATEWAY) for one in self.gateways),
            *(
                Chain(f"gateway's metrics {one.url}", MetricsPage(one), table.GATEWAY_METRICS)
                for one in self.gateway_metrics
            ),
            Chain("this machine", MachineTarget(self.pids, self._ports()), table.MACHINE),
            Chain("the fleet", FleetTarget(self.tritons, self.gateways), table.FLEET),
        ]

    def _ports(self) -> tuple[tuple[str, int], ...]:
        """Triton's ports on this machine, by what they are for: those at addresses of the loopback interface."""
        web = (("http", self.triton_http), ("metrics", self.triton_metrics))
        found = [("grpc", one.host, one.port) for one in self.tritons]
        found += [(what, one.host, one.port) for what, pages in web for one in pages]
        return tuple((what, port) for what, host, port in found if is_loopback(host))


def run(options: argparse.Namespace, say: Say) -> int:
    """Look, and print what is wrong; the exit code."""
    if options.list:
        for check in table.CHECKS:
            print(f"{check.name:<24} {check.question}")
        return report.HEALTHY
    try:
        with silent_logs():
            findings = asyncio.run(examine(options))
    except SettingsError as failure:
        say(f"ocr-gateway doctor: {failure}")
        return report.NOT_SEEN
    _print(findings, options, say)
    return report.exit_code(findings)


@contextmanager
def silent_logs() -> Iterator[None]:
    """Without the log: what the gateway's own parts say of a Triton, the findings say better."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def _print(findings: Sequence[Finding], options: argparse.Namespace, say: Say) -> None:
    if options.json:
        print(report.for_programs(findings))
        return
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    for line in report.for_people(findings, everything=options.verbose, colour=colour):
        print(line)
    say(report.summary(findings))


async def examine(options: argparse.Namespace) -> list[Finding]:
    """Look at what was asked for.

    Raises:
        SettingsError: what was asked for is not there, or the settings are not good.
    """
    chosen = choose(options.only, options.skip)
    system = await find(options, Settings.read())
    return await examine_all(system.chains(), chosen)


def choose(only: Sequence[str], skip: Sequence[str]) -> frozenset[str]:
    """The names of the checks to run.

    Raises:
        SettingsError: there is no such check.
    """
    known = frozenset(check.name for check in table.CHECKS)
    if unknown := sorted({*only, *skip} - known):
        raise SettingsError(f"there is no check {', '.join(unknown)}; --list shows them all")
    return frozenset(only or known) - frozenset(skip)


async def find(options: argparse.Namespace, settings: Settings) -> System:
    """What is to be looked at: what was named; if neither a gateway nor a Triton was, what the gateway's settings say.

    Raises:
        SettingsError: an address is none.
    """
    alone = not (options.gateway or options.triton)
    gateways = _web(
        options.gateway or [f"http://{settings.host}:{settings.port}"] * alone,
        guesses=(),
        key=os.environ.get("GATEWAY_API_KEY", ""),  # for nobody else
    )
    addresses = ",".join(options.triton) or settings.triton_addresses * (alone and settings.backend == "triton")
    tritons = await find_tritons(addresses, tls_files(options, settings), settings) if addresses else ()
    return System(
        tritons=tritons,
        gateways=gateways,
        triton_http=_web(options.triton_http, _default(tritons, HTTP_PORT)),
        triton_metrics=_web(options.triton_metrics, _default(tritons, METRICS_PORT, "/metrics")),
        gateway_metrics=_web(options.gateway_metrics, _metrics_of(gateways, settings)),
        logs=tuple(options.triton_log),
        pids=tuple(options.pid),
    )


async def find_tritons(text: str, tls: TlsFiles | None, settings: Settings) -> tuple[TritonTarget, ...]:
    """Every Triton; of a name with several addresses, each by itself.

    Raises:
        SettingsError: an address is none.
    """
    try:
        addresses = parse_addresses(text)
    except ValueError as failure:
        raise SettingsError(str(failure)) from failure
    names = ModelNames(settings.detection_model, settings.recognition_model)
    found: list[TritonTarget] = []
    for address in addresses:
        try:
            behind = await look_up(address)
        except OSError:  # its first check says so
            behind = [f"{address.host}:{address.port}"]
        found += [_triton(one, tls, names) for one in behind]
    return tuple(found)


def tls_files(options: argparse.Namespace, settings: Settings) -> TlsFiles | None:
    """The files that are to be used with Triton, if any."""
    authorities = options.triton_ca or settings.triton_ca
    if authorities is None:
        return None
    return TlsFiles(
        authorities,
        options.triton_certificate or settings.triton_certificate,
        options.triton_key or settings.triton_key,
        options.triton_server_name or settings.triton_server_name,
    )


def _triton(address: str, tls: TlsFiles | None, names: ModelNames) -> TritonTarget:
    host, _, port = address.rpartition(":")
    return TritonTarget(host, int(port), tls, names)


def _web(given: Sequence[str], guesses: Sequence[str], key: str = "") -> tuple[WebTarget, ...]:
    """What was given, or else what can be guessed."""
    for url in given:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SettingsError(f"{url!r} is no address such as http://127.0.0.1:8080")
    return tuple(WebTarget(url.rstrip("/"), key, guessed=not given) for url in given or guesses)


def _default(tritons: Sequence[TritonTarget], port: int, path: str = "") -> list[str]:
    """Where Tritons on their default port have the rest."""
    return [f"http://{one.host}:{port}{path}" for one in tritons if one.port == GRPC_PORT]


def _metrics_of(gateways: Sequence[WebTarget], settings: Settings) -> list[str]:
    """Where gateways have their metrics: on the port for operators, where the settings have one."""
    if not settings.ops_port:
        return [f"{one.url}/metrics" for one in gateways]
    return [f"http://{one.host}:{settings.ops_port}/metrics" for one in gateways]
