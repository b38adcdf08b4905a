"""Run a server, or do one of the other things that nats-server's flags ask for."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from jetstream_py.config import ConfigError, UsageError, parse_args, usage

if TYPE_CHECKING:
    from jetstream_py.config import Invocation

# What messages begin with: scripts that drive a nats-server look for it.
PROGRAM: Final = "nats-server"


def main(arguments: list[str]) -> int:
    """Do what the flags say. Returns the exit status."""
    try:
        invocation = parse_args(arguments, os.environ)
    except UsageError as error:
        print(error, file=sys.stderr)
        sys.stdout.write(usage(PROGRAM))
        return error.exit_status
    except ConfigError as error:
        return refuse(str(error))
    return ACTIONS[invocation.action](invocation)


def refuse(text: str) -> int:
    print(f"{PROGRAM}: {text}", file=sys.stderr)
    return 1


def _serve(invocation: Invocation) -> int:
    from jetstream_py.app import run

    return run(invocation, os.environ)


def _check(invocation: Invocation) -> int:
    options = invocation.options
    for warning in invocation.warnings:
        print(f"{PROGRAM}: {warning}", file=sys.stderr)
    text = f"configuration file {options.config_file} is valid ({options.config_digest})"
    print(f"{PROGRAM}: {text}", file=sys.stderr)
    return 0


def _version(invocation: Invocation) -> int:
    from jetstream_py.version import NATS_VERSION

    print(f"{PROGRAM}: v{NATS_VERSION}")
    return 0


def _help(invocation: Invocation) -> int:
    sys.stdout.write(usage(PROGRAM))
    return 0


def _help_tls(invocation: Invocation) -> int:
    from jetstream_py.config.tls_names import tls_help

    sys.stdout.write(tls_help())
    return 0


def _signal(invocation: Invocation) -> int:
    from jetstream_py.cli.processes import SignalError, send

    try:
        send(invocation.signal, invocation.signal_target)
    except SignalError as error:
        return refuse(str(error))
    return 0


ACTIONS: Final = {
    "serve": _serve,
    "check": _check,
    "version": _version,
    "help": _help,
    "help_tls": _help_tls,
    "signal": _signal,
}
