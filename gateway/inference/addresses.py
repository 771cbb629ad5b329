"""Where the Tritons are: a list of addresses, names among them whose addresses come and go.

A name (`dns:///triton-headless:8001`) is looked up again and again, so a new node is found within seconds. gRPC's own
resolver looks again only when a connection breaks.
"""

import asyncio
import re
import socket
from dataclasses import dataclass

NAME_PREFIX = "dns:///"

_ADDRESS = re.compile(r"(?P<prefix>dns:///)?(?P<host>\[[0-9a-fA-F:.]+\]|[\w.-]+):(?P<port>\d{1,5})")


@dataclass(frozen=True, slots=True)
class Address:
    """One entry of the list.

    Attributes:
        host: name or number; an IPv6 address stands in brackets.
        port: of Triton's gRPC API.
        is_name: whether the name stands for all the addresses that DNS has for it.
    """

    host: str
    port: int
    is_name: bool = False

    def __str__(self) -> str:
        return f"{NAME_PREFIX if self.is_name else ''}{self.host}:{self.port}"


def parse_addresses(text: str) -> tuple[Address, ...]:
    """The addresses of a comma-separated list, without repetitions; ValueError names the entry that is none."""
    addresses = tuple(dict.fromkeys(_parse(entry.strip()) for entry in text.split(",") if entry.strip()))
    if not addresses:
        raise ValueError("at least one address is needed: host:port or dns:///name:port")
    return addresses


def _parse(entry: str) -> Address:
    match = _ADDRESS.fullmatch(entry)
    if match is None or not 0 < int(match["port"]) < 65536:
        raise ValueError(f"{entry!r} is not host:port, [IPv6 address]:port or dns:///name:port")
    return Address(match["host"], int(match["port"]), is_name=match["prefix"] is not None)


async def look_up(address: Address) -> list[str]:
    """The `host:port` of every server behind an address, in a fixed order.

    Raises:
        OSError: DNS does not know the name, or does not answer.
    """
    if not address.is_name:
        return [str(address)]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    return sorted({_numeric(family, str(where[0]), address.port) for family, _, _, _, where in found})


def _numeric(family: int, host: str, port: int) -> str:
    return f"[{host}]:{port}" if family == socket.AF_INET6 else f"{host}:{port}"
