"""`python -m jetstream_py.cli.docs`: write docs/cli.md from the commands themselves."""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from jetstream_py.cli import OWN_PARSER
from jetstream_py.cli.frame import Framed
from jetstream_py.cli.main import root

PAGE: Final = Path("docs/cli.md")
INTRODUCTION: Final = """# The command line

Written by `python -m jetstream_py.cli.docs`; `jetstream-py VERB --help` says the same.

`jetstream-py` serves, and talks to NATS servers of any kind: `pip install 'jetstream-py[cli]'`. Global
options stand before or behind a verb. Connection settings come from options, then the environment, then the
context (the files of the `nats` command). On a terminal there are tables, colours and questions; in a pipe
plain lines and none; with `--json` JSON everywhere.
"""


def page() -> str:
    command = root()
    ctx = click.Context(command, info_name="jetstream-py")
    parts = [INTRODUCTION, *_entry(command, ctx, 2)]
    for name in command.list_commands(ctx):
        found = command.get_command(ctx, name)
        assert found is not None
        parts += _own(name) if name in OWN_PARSER else _walk(found, ctx, name, 2)
    return "\n".join(parts)


def _own(verb: str) -> Iterator[str]:
    yield f"## {verb}\n\n{OWN_PARSER[verb][1]}.\n"
    if verb == "serve":
        yield "Its flags are those of nats-server: [configuration.md](configuration.md).\n"
        return
    module = importlib.import_module(OWN_PARSER[verb][0])
    if hasattr(module, "parser"):
        yield from _argparse(verb, module.parser())
    else:
        yield f"```text\n{module.USAGE}\n```\n"


def _argparse(verb: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """Not its own help: that looks different in each version of Python."""
    yield f"{parser.description}\n\n    jetstream-py {verb} [OPTIONS]\n"
    rows = []
    for action in parser._actions:
        flags = ", ".join(action.option_strings)
        value = action.metavar if isinstance(action.metavar, str) else ""
        choices = f"one of {', '.join(action.choices)}" if action.choices else ""
        if "--help" not in flags:
            rows.append((f"{flags} {value}".strip(), action.help or choices))
    yield from _table(rows)
    if parser.epilog:
        yield f"{parser.epilog}\n"


def _walk(command: click.Command, parent: click.Context, name: str, depth: int) -> Iterator[str]:
    ctx = click.Context(command, info_name=name, parent=parent)
    yield from _entry(command, ctx, depth)
    if isinstance(command, click.Group):
        for below in command.list_commands(ctx):
            found = command.get_command(ctx, below)
            assert found is not None
            yield from _walk(found, ctx, below, depth + 1)


def _entry(command: click.Command, ctx: click.Context, depth: int) -> Iterator[str]:
    yield f"{'#' * depth} {ctx.command_path.removeprefix('jetstream-py ')}\n"
    if command.help:
        yield _prose(command.help)
    usage = " ".join(command.collect_usage_pieces(ctx))
    yield f"    {ctx.command_path} {usage}\n"
    rows = [
        record
        for param in command.get_params(ctx)
        if isinstance(param, click.Option)
        and (record := param.get_help_record(ctx))
        and "--help" not in record[0]
    ]
    yield from _table(rows)
    if isinstance(command, Framed) and command.examples:
        yield "\n".join(["```sh", *command.examples, "```\n"])


def _prose(text: str) -> str:
    """Paragraphs; those that click must not wrap become blocks."""
    parts = inspect.cleandoc(text).split("\n\n")
    return (
        "\n\n".join(
            f"```text\n{inspect.cleandoc(part[2:])}\n```" if part.startswith("\b\n") else part
            for part in parts
        )
        + "\n"
    )


def _table(rows: list[tuple[str, str]]) -> Iterator[str]:
    if rows:
        yield "| option | |\n|---|---|"
        for option, text in rows:
            yield f"| `{option}` | {' '.join(text.split()).replace('|', chr(92) + '|')} |"
        yield ""


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.stdout.write(f"wrote {PAGE}\n")
