"""The command line: `ocr-gateway`, or `python -m gateway`.

* `ocr-gateway serve`: Triton and the gateway together, everything set up on the way;
* `ocr-gateway run`: the gateway alone, from OCR_* settings: what a deployment starts;
* `ocr-gateway read`: what files say, from a gateway that runs, or from one started for the purpose;
* `ocr-gateway models`: builds models, and replaces those of Tritons that serve;
* `ocr-gateway doctor`: what is wrong with a running system, and what to do.
"""

import argparse
import gc
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from gateway.allocator import keep_freed_memory
from gateway.errors import OcrError

FORMAT_NAMES = ("text", "json", "ndjson", "markdown", "tsv", "hocr", "alto", "page", "pdf", "png")
"""As in `gateway.formats.table`, which would import OpenCV to print the usage."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    options = parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except OcrError as error:
        return fail(str(error))
    except KeyboardInterrupt:
        say("stopped")
        return 0


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(prog="ocr-gateway", description="Turns pictures of text into text.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="set everything up and serve: Triton and the gateway together")
    serve.add_argument("--backend", choices=("triton", "embedded"), default="triton")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    serve.add_argument("--port", type=int, default=8080, help="port to listen on (default: %(default)s)")
    serve.add_argument("--model-set", default="ppocrv6-small", help="see docs/models.md (default: %(default)s)")
    serve.add_argument("--home", type=Path, default=Path(".local"), help="folder for what it makes (%(default)s)")
    serve.set_defaults(command=run_serve)

    run = commands.add_parser("run", help="run the gateway alone, from OCR_* settings (docs/configuration.md)")
    run.set_defaults(command=run_gateway)
    add_read(commands)
    add_models(commands)
    add_doctor(commands)
    return top


def add_read(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The command `read` and its options."""
    read = commands.add_parser(
        "read",
        help="print what files say, in any format",
        epilog="Exit code: 0 all files were read, 1 some were not, 2 no gateway could be asked.",
    )
    read.add_argument("files", nargs="+", metavar="FILE", help="images and PDFs; - is the standard input")
    where = read.add_mutually_exclusive_group()
    where.add_argument("--url", default="http://127.0.0.1:8080", help="of a gateway (default: %(default)s)")
    where.add_argument("--embedded", action="store_true", help="start a gateway for these files, without Triton")
    read.add_argument("--format", default="text", choices=FORMAT_NAMES, help="(default: %(default)s)")
    read.add_argument(
        "-o", "--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the API (docs/api.md)"
    )
    read.add_argument("--out", type=Path, metavar="FOLDER", help="write a file for each, instead of printing")
    read.add_argument("--jobs", type=int, default=2, metavar="N", help="files at once (default: %(default)s)")
    read.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds for a file (default: 60)")
    read.add_argument("--quiet", action="store_true", help="show no progress; what fails is said even so")
    read.add_argument("--model-set", default="ppocrv6-small", help="for --embedded (default: %(default)s)")
    read.add_argument("--home", type=Path, default=Path(".local"), help="for --embedded: folder of the models")
    read.set_defaults(command=run_read)


def add_models(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The command `models` and what it can do."""
    models = commands.add_parser(
        "models",
        help="build models, and replace those of Tritons that serve",
        epilog="The key that loads models is in TRITON_ADMIN_KEY. Exit code: 0 done, 1 failed, 3 refused.",
    )
    models.set_defaults(command=run_models)
    actions = models.add_subparsers(required=True, metavar="ACTION", dest="action")
    for name, what in (("list", "show the model sets"), ("build", "build a repository (docs/models.md)")):
        # Without a sign that options begin with: they are all left to the builder's own parser.
        actions.add_parser(name, help=what, add_help=False, prefix_chars="\0").add_argument("rest", nargs="*")
    for name, what, takes_source in (
        ("verify", "try models on golden pictures, without anybody being served by them", True),
        ("deploy", "the same, and then have them serve", True),
        ("rollback", "go back to the models before the last release", False),
        ("status", "show versions, and whether they work", False),
    ):
        action = actions.add_parser(name, help=what)
        if takes_source:
            action.add_argument("source", type=Path, help="a repository that `build` has made")
            action.add_argument("--golden", type=Path, metavar="FOLDER", help="pictures, each with its text in a .txt")
        if name == "deploy":
            action.add_argument(
                "--share", type=percentage, metavar="PERCENT", help="have them read so many of the requests for now"
            )
        action.add_argument("--repository", type=Path, required=True, help="that the Tritons load from")
        action.add_argument("--triton", default="127.0.0.1:8001", help="host:port,... (default: %(default)s)")
        add_triton_tls(action)


def percentage(text: str) -> float:
    """An option's value: 0 to 100.

    Raises:
        ArgumentTypeError: it is not.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 to 100")
    return value


def add_triton_tls(parser: argparse.ArgumentParser) -> None:
    """How connections to Triton are encrypted."""
    parser.add_argument("--triton-ca", metavar="FILE", type=Path, help="as OCR_TRITON_CA")
    parser.add_argument("--triton-certificate", metavar="FILE", type=Path, help="as OCR_TRITON_CERTIFICATE")
    parser.add_argument("--triton-key", metavar="FILE", type=Path, help="as OCR_TRITON_KEY")
    parser.add_argument("--triton-server-name", metavar="NAME", default="", help="as OCR_TRITON_SERVER_NAME")


def add_doctor(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The command `doctor` and its options."""
    doctor = commands.add_parser(
        "doctor",
        help="look at a running system, and say what is wrong and what to do (docs/doctor.md)",
        epilog="If neither a gateway nor a Triton is named, the settings OCR_* say where they are; an API key is in "
        "GATEWAY_API_KEY. Nothing is changed. "
        "Exit code: 0 healthy, 1 warnings, 2 errors, 3 something could not be looked at.",
    )
    doctor.add_argument(
        "--gateway", metavar="URL", help="of a gateway (more than once: several)", action="append", default=[]
    )
    doctor.add_argument(
        "--gateway-metrics", metavar="URL", help="if not /metrics at the gateway", action="append", default=[]
    )
    doctor.add_argument(
        "--triton", metavar="HOST:PORT", help="of its gRPC API (more than once: several)", action="append", default=[]
    )
    doctor.add_argument("--triton-http", metavar="URL", help="of its HTTP API", action="append", default=[])
    doctor.add_argument("--triton-metrics", metavar="URL", help="of its page of metrics", action="append", default=[])
    doctor.add_argument(
        "--triton-log", metavar="FILE", type=Path, help="its log; - reads a pipe", action="append", default=[]
    )
    add_triton_tls(doctor)
    doctor.add_argument("--pid", type=int, help="of a process on this machine to look at", action="append", default=[])
    doctor.add_argument(
        "--only", metavar="CHECK", help="run this check (more than once: several)", action="append", default=[]
    )
    doctor.add_argument("--skip", metavar="CHECK", action="append", default=[], help="leave this check out")
    doctor.add_argument("--list", action="store_true", help="list the checks")
    doctor.add_argument("--json", action="store_true", help="print everything as JSON")
    doctor.add_argument("--verbose", action="store_true", help="show what is well, too")
    doctor.set_defaults(command=run_doctor)


def run_doctor(options: argparse.Namespace) -> int:
    """`doctor`."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # read when gRPC is imported: what it logs are findings here
    from gateway.doctor.command import run  # noqa: PLC0415 - as below

    return run(options, say)


def run_models(options: argparse.Namespace) -> int:
    """`models`."""
    from gateway.rollout.command import run  # noqa: PLC0415 - as below

    return run(options, say)


def run_serve(options: argparse.Namespace) -> int:
    """`serve`; imports late, because a deployment has neither the builder nor Triton's wheel."""
    from gateway.local import ChildDiedError, PairOptions, serve  # noqa: PLC0415
    from gateway.supervision import GivenUpError  # noqa: PLC0415
    from triton_models.errors import BuildError  # noqa: PLC0415
    from triton_models.preconditions import PreconditionError  # noqa: PLC0415
    from triton_models.server import TritonStartError  # noqa: PLC0415

    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        serve(PairOptions(options.backend, options.host, options.port, options.model_set, options.home), say)
    except (BuildError, PreconditionError, TritonStartError, ChildDiedError, GivenUpError) as error:
        return fail(str(error))
    return 0


def run_gateway(_: argparse.Namespace) -> int:
    """`run`."""
    gc.disable()  # What an import makes stays: looking for garbage among it takes 7 % of its time.
    keep_freed_memory()
    from gateway.app import run  # noqa: PLC0415 - `serve` must not import OpenCV and gRPC to print its usage
    from gateway.settings import Settings  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    return run(Settings.read())


def run_read(options: argparse.Namespace) -> int:
    """`read`; the API key comes from GATEWAY_API_KEY, because others see a command's arguments."""
    from gateway.read_command import ReadOptions, read_files  # noqa: PLC0415 - as above

    return read_files(
        ReadOptions(
            files=tuple(options.files),
            url=None if options.embedded else options.url,
            form=options.format,
            options=tuple(options.option),
            out=options.out,
            jobs=options.jobs,
            timeout_s=options.timeout,
            quiet=options.quiet,
            api_key=os.environ.get("GATEWAY_API_KEY", ""),
            model_set=options.model_set,
            home=options.home,
        ),
        say,
    )


def say(line: str) -> None:
    """Tell the person at the terminal."""
    print(line, file=sys.stderr, flush=True)


def fail(message: str) -> int:
    """Say what went wrong; the exit code of it."""
    say(f"ocr-gateway: {message}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
