"""The commands: `jetstream-py <verb> ...`, and `nats-server-py`, which takes nats-server's flags.

A harness may start a server for each of a thousand tests, so nothing is imported before it is known
to be needed.
"""

from __future__ import annotations

import os
import sys
from typing import Final

USAGE_ERROR: Final = 2
# verb -> module with `main(arguments) -> exit status`, what it does
VERBS: Final = {
    "serve": ("jetstream_py.cli.serve", "Run a server; takes the flags of nats-server"),
    "verify": ("jetstream_py.cli.verify", "Check a JetStream store that no server uses"),
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
    if verb in ("-h", "--help", "help"):
        print(usage())
        return 0
    if verb in ("-v", "--version", "version"):
        from jetstream_py.version import NATS_VERSION, __version__

        print(f"jetstream-py {__version__} (NATS {NATS_VERSION})")
        return 0
    if verb not in VERBS:
        print(f"jetstream-py: unknown command {verb!r}\n\n{usage()}", file=sys.stderr)
        return USAGE_ERROR
    import importlib

    status: int = importlib.import_module(VERBS[verb][0]).main(rest)
    return status


def usage() -> str:
    verbs = "\n".join(f"    {verb:<10} {does}" for verb, (_, does) in VERBS.items())
    return f"""Usage: jetstream-py <command> [options]

Commands:
{verbs}

Options:
    -h, --help     Show this message
    -v, --version  Show the version

jetstream-py serve --help lists the flags of the server."""


def keep_standard_streams() -> None:
    """Give closed standard streams a place to go.

    A file or socket that we open gets the lowest free number. If that were 2, the log would be
    written into it.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)
