"""`jetstream-py <verb>` for people: the root of all verbs that click parses.

A verb's module is imported when the verb is used, or when the help lists all of them.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, Final

import click

from jetstream_py.cli import COMPLETE, OWN_PARSER, USAGE_ERROR, run_own
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.frame import Group, Settings

INTERRUPTED: Final = 130
# verb -> module whose `command` it is; the order is that of the help
VERBS: Final = {
    "pub": "jetstream_py.cli.pub",
    "sub": "jetstream_py.cli.sub",
    "request": "jetstream_py.cli.request",
    "reply": "jetstream_py.cli.reply",
    "stream": "jetstream_py.cli.stream",
    "consumer": "jetstream_py.cli.consumer",
    "kv": "jetstream_py.cli.kv",
    "object": "jetstream_py.cli.object",
    "account": "jetstream_py.cli.account",
    "events": "jetstream_py.cli.events",
    "bench": "jetstream_py.cli.bench",
    "passwd": "jetstream_py.cli.passwd",
    "nkey": "jetstream_py.cli.nkeys",
    "server": "jetstream_py.cli.server",
    "context": "jetstream_py.cli.context",
    "completion": "jetstream_py.cli.completion",
}
ALIASES: Final = {
    "publish": "pub",
    "subscribe": "sub",
    "req": "request",
    "str": "stream",
    "streams": "stream",
    "con": "consumer",
    "consumers": "consumer",
    "obj": "object",
    "srv": "server",
    "sys": "server",
    "ctx": "context",
}


class Root(Group):
    """Verbs of three kinds: ours, those with a parser of their own, and other names."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*OWN_PARSER, *VERBS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        if name in OWN_PARSER:
            return _own(name)
        if name not in VERBS:
            return None
        found: click.Command = importlib.import_module(VERBS[name]).command
        return found


def _own(verb: str) -> click.Command:
    """A verb with a parser of its own, as the help and the completion see it."""

    def callback(arguments: tuple[str, ...]) -> None:
        click.get_current_context().exit(run_own(verb, list(arguments)))

    return click.Command(
        verb,
        callback=callback,
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
        help=OWN_PARSER[verb][1],
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
    )


def root() -> Root:
    return Root(
        "jetstream-py",
        root=True,
        help="""A NATS and JetStream server, and the command for NATS servers of any kind.

        Durations are written 1h30m or 1d, sizes 512, 10KiB or 1G. Questions are asked on a terminal only;
        a script gets an error that names the flag. Exit status: 0 when it was done, 1 when it failed, 2
        when the command line is wrong.""",
        examples="""jetstream-py serve -js -sd ./data
        jetstream-py stream add ORDERS --subjects 'orders.>'
        jetstream-py pub orders.new 'a book' -J
        jetstream-py stream view ORDERS""",
    )


def run(arguments: list[str]) -> int:
    """Do it; the exit status."""
    try:
        status: Any = root().main(
            arguments,
            "jetstream-py",
            complete_var=COMPLETE,
            standalone_mode=False,
            obj=Settings(),
        )
    except click.ClickException as error:
        return _complain(error)
    except (click.Abort, KeyboardInterrupt):
        click.echo("", err=True)
        return INTERRUPTED
    return status if isinstance(status, int) else 0


def _complain(error: click.ClickException) -> int:
    mark = "jetstream-py: error: "
    mark = click.style(mark, fg="red") if sys.stderr.isatty() else mark
    click.echo(mark + error.format_message(), err=True)
    if isinstance(error, Failure) and error.hint:
        click.echo(f"  {error.hint}", err=True)
    if isinstance(error, click.UsageError):
        if error.ctx is not None:
            click.echo(f"  `{error.ctx.command_path} --help` shows the options", err=True)
        return USAGE_ERROR
    return 1
