"""The commands: `jetstream-py <verb> ...`, and `nats-server-py`, which takes nats-server's flags.

A harness may start a server for each of a thousand tests, so nothing is imported before it is known
to be needed: verbs with a parser of their own are found without click, the others through `cli.main`.
"""

from __future__ import annotations

import os
import sys
from typing import Final

USAGE_ERROR: Final = 2
COMPLETE: Final = "_JETSTREAM_PY_COMPLETE"  # set by a shell that asks how a line may go on
# verb -> module with `main(arguments) -> exit status`, what it does
OWN_PARSER: Final = {
    "serve": ("jetstream_py.cli.serve", "Run a server; takes the flags of nats-server"),
    "verify": ("jetstream_py.cli.verify", "Check a JetStream store that no server uses"),
    "export": ("jetstream_py.cli.export", "Write streams as Parquet files"),
    "import": ("jetstream_py.cli.import_", "Publish the messages of an export to a stream"),
    "migrate": ("jetstream_py.cli.migrate", "Bring streams and buckets from one server to another"),
}


def main() -> None:
    """`jetstream-py`."""
    keep_standard_streams()
    sys.exit(dispatch(sys.argv[1:]))


def nats_server() -> None:
    """`nats-server-py`."""
    keep_standard_streams()
    from jetstream_py.cli.serve import main as serve

    sys.exit(serve(sys.argv[1:]))


def dispatch(arguments: list[str]) -> int:
    """Run what the first argument names."""
    verb, *rest = arguments or ["--help"]
    if verb in OWN_PARSER and COMPLETE not in os.environ:
        return run_own(verb, rest)
    if verb in ("-v", "--version", "version"):
        from jetstream_py.version import NATS_VERSION, __version__

        print(f"jetstream-py {__version__} (NATS {NATS_VERSION})")
        return 0
    try:
        from jetstream_py.cli.main import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("click", "rich", "nats"):
            raise
        return _without_click(verb)
    return run(["--help"] if verb == "help" else arguments or ["--help"])


def run_own(verb: str, arguments: list[str]) -> int:
    """A verb with a parser of its own."""
    import importlib

    status: int = importlib.import_module(OWN_PARSER[verb][0]).main(arguments)
    return status


def _without_click(verb: str) -> int:
    """A server was installed, without what the other verbs need."""
    verbs = "\n".join(f"    {verb:<10} {does}" for verb, (_, does) in OWN_PARSER.items())
    more = "The other commands need more: pip install 'jetstream-py[cli]'"
    usage = f"Usage: jetstream-py COMMAND [OPTIONS]\n\nCommands:\n{verbs}\n\n{more}"
    if verb in ("-h", "--help", "help"):
        print(usage)
        return 0
    print(f"jetstream-py: no command {verb!r} here\n\n{usage}", file=sys.stderr)
    return USAGE_ERROR


def keep_standard_streams() -> None:
    """Give closed standard streams a place to go.

    A file or socket that we open gets the lowest free number. If that were 2, the log would be
    written into it.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)
