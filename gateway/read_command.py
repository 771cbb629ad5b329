"""`ocr-gateway read`: what files say, in any format, from a gateway that runs or from one started for the purpose.

Answers go to the standard output in the order of the files, or each into a file of its own; everything else that there
is to say goes to the standard error. A file that fails costs nothing but itself. Requests are tasks, not threads, so
that an interrupt ends them at once.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.client import AsyncClient, Client, ClientError

Say = Callable[[str], None]

ALL_READ, SOME_FAILED, NOTHING_ASKED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""

STANDARD_INPUT = "-"

SUFFIXES: Mapping[str, str] = {
    "text": ".txt",
    "json": ".json",
    "ndjson": ".ndjson",
    "markdown": ".md",
    "tsv": ".tsv",
    "hocr": ".hocr",
    "alto": ".alto.xml",
    "page": ".page.xml",
    "pdf": ".ocr.pdf",
    "png": ".ocr.png",
}
"""Of the files that are written, after the name of the file that was read, so that none of those is overwritten."""

BINARY = ("pdf", "png")

FIRST_LOOK_S = 5.0
"""How long to look for the gateway before any file is sent."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What `read` was asked for.

    Attributes:
        files: their paths, or "-".
        url: of the gateway; None to start one.
        form: name of the format.
        options: of the API, as NAME=VALUE.
        out: folder to write to; None to print.
        jobs: files under way at once.
        timeout_s: for each file.
        quiet: say only what fails.
        api_key: for the gateway, if it wants one.
        model_set, home: of a gateway that is started.
    """

    files: tuple[str, ...]
    url: str | None
    form: str = "text"
    options: tuple[str, ...] = ()
    out: Path | None = None
    jobs: int = 2
    timeout_s: float = 60.0
    quiet: bool = False
    api_key: str = ""
    model_set: str = "ppocrv6-small"
    home: Path = Path(".local")


@dataclass(frozen=True, slots=True)
class ReadFile:
    """What came of one file.

    Attributes:
        name: as it was given.
        answer: in the format, or what went wrong.
        seconds: that it took.
    """

    name: str
    answer: bytes | ClientError | OSError
    seconds: float


class CommandError(Exception):
    """Nothing can be asked; the message says why."""


def read_files(options: ReadOptions, say: Say) -> int:
    """Read the files; the exit code."""
    try:
        with ExitStack() as stack:
            parameters = parse_options(options)
            url = options.url or stack.enter_context(own_gateway(options, say))
            require_gateway(url, options.api_key)
            piped = sys.stdin.buffer.read() if STANDARD_INPUT in options.files else b""
            return asyncio.run(_ask(url, options, parameters, piped, say))
    except CommandError as error:
        say(f"ocr-gateway: {error}")
        return NOTHING_ASKED
    except KeyboardInterrupt:
        say("stopped")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever reads has seen enough, as `head` does. Nothing may be flushed into the closed pipe at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SOME_FAILED


def parse_options(options: ReadOptions) -> dict[str, str]:
    """Options of the API by name.

    Raises:
        CommandError: one is no NAME=VALUE, or the format can't be printed.
    """
    for option in options.options:
        if "=" not in option:
            raise CommandError(f"-o {option}: an option is given as NAME=VALUE, as in -o min_score=0.7")
    if options.form in BINARY and options.out is None and (len(options.files) > 1 or sys.stdout.isatty()):
        raise CommandError(f"--format {options.form} makes files; say where to put them with --out FOLDER")
    if options.out and (clashing := names_that_clash(options.files)):
        raise CommandError(f"several files are called {clashing[0]}, and one would overwrite another in {options.out}")
    return dict(option.split("=", 1) for option in options.options)


@contextmanager
def own_gateway(options: ReadOptions, say: Say) -> Iterator[str]:
    """The address of a gateway with models of its own, for as long as it is needed.

    Raises:
        CommandError: it could not be started.
    """
    from gateway.local import (  # noqa: PLC0415 - a client has no need of the builder
        READY_TIMEOUT_S,
        ChildDiedError,
        GatewayProcess,
        PairOptions,
        base_url,
        build_models,
    )
    from triton_models.errors import BuildError  # noqa: PLC0415
    from triton_models.preconditions import PreconditionError  # noqa: PLC0415
    from triton_models.server import Ports  # noqa: PLC0415

    pair = PairOptions("embedded", "127.0.0.1", Ports.free().http, options.model_set, options.home)
    try:
        if not options.quiet:
            say(f"starting a gateway with {options.model_set}")
        environment = {
            "OCR_BACKEND": "embedded",
            "OCR_HOST": pair.host,
            "OCR_PORT": str(pair.port),
            "OCR_MODEL_REPOSITORY": str(build_models(pair).resolve()),
            "OCR_LOG_LEVEL": "error",  # what goes wrong with a file is told by the client
        }
        with GatewayProcess(environment, pair) as gateway:
            gateway.wait_ready(READY_TIMEOUT_S)
            yield base_url(pair)
    except (BuildError, PreconditionError, ChildDiedError) as error:
        raise CommandError(str(error)) from error


def require_gateway(url: str, api_key: str) -> None:
    """Raise CommandError if no gateway answers."""
    with Client(url, api_key=api_key, timeout_s=FIRST_LOOK_S) as client:
        try:
            client.capabilities()
        except ClientError as error:
            raise CommandError(f"no gateway answers at {url} ({error}); start one, or use --embedded") from error


async def _ask(url: str, options: ReadOptions, parameters: Mapping[str, str], piped: bytes, say: Say) -> int:
    async with (
        AsyncClient(url, api_key=options.api_key, timeout_s=options.timeout_s) as client,
        aclosing(read_all(client, options, parameters, piped)) as files,
    ):
        return await deliver(files, options, say)


async def read_all(
    client: AsyncClient, options: ReadOptions, parameters: Mapping[str, str], piped: bytes = b""
) -> AsyncGenerator[ReadFile, None]:
    """What came of each file, in order; a few are under way at once. `piped` is what the standard input had."""
    room = asyncio.Semaphore(options.jobs)

    async def read(name: str) -> ReadFile:
        async with room:
            return await read_file(client, options.form, parameters, name, piped)

    tasks = [asyncio.create_task(read(name)) for name in options.files]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def read_file(
    client: AsyncClient, form: str, parameters: Mapping[str, str], name: str, piped: bytes = b""
) -> ReadFile:
    """Read one file."""
    began_at = time.monotonic()
    answer: bytes | ClientError | OSError
    try:
        data = piped if name == STANDARD_INPUT else await asyncio.to_thread(Path(name).read_bytes)
        answer = await client.write(data, form, **parameters)
    except (ClientError, OSError) as error:
        answer = error
    return ReadFile(name, answer, time.monotonic() - began_at)


async def deliver(files: AsyncGenerator[ReadFile, None], options: ReadOptions, say: Say) -> int:
    """Print or write what comes, and say how it goes; the exit code."""
    failed = number = 0
    async for file in files:
        number += 1
        if isinstance(file.answer, Exception):
            failed += 1
            say(f"{file.name}: {describe(file.answer)}")
            continue
        if options.out:
            write_to(options.out, file.name, options.form, file.answer)
        else:
            sys.stdout.buffer.write(file.answer if options.form in BINARY else ended(file.answer))
            sys.stdout.buffer.flush()
        if not options.quiet and sys.stderr.isatty():
            say(f"[{number}/{len(options.files)}] {file.name}: {file.seconds:.1f} s")
    if failed and number > 1:
        say(f"{failed} of {number} files could not be read")
    return SOME_FAILED if failed else ALL_READ


def ended(answer: bytes) -> bytes:
    """An answer with a line feed at its end, so that the next one begins on a line of its own."""
    return answer if answer.endswith(b"\n") or not answer else answer + b"\n"


def describe(error: Exception) -> str:
    """What went wrong, in words."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def write_to(folder: Path, name: str, form: str, answer: bytes) -> None:
    """Write an answer beside those of the other files."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = "stdin" if name == STANDARD_INPUT else Path(name).name
    (folder / f"{stem}{SUFFIXES[form]}").write_bytes(answer)


def names_that_clash(files: Sequence[str]) -> list[str]:
    """Names of files that several paths share, so that one answer would overwrite another."""
    names = [Path(file).name for file in files]
    return sorted({name for name in names if names.count(name) > 1})
