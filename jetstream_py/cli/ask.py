"""Questions to whoever sits at the terminal.

Nobody is asked unless both ends are a terminal: a script gets an error that names the flag.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from jetstream_py.cli.failure import Failure, MissingAnswer

T = TypeVar("T")


def possible() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def text(label: str, flag: str, default: str | None = None, secret: bool = False) -> str:
    """One line. `flag` is what a script would have given."""
    if not possible():
        raise MissingAnswer(f"{label} is missing: give {flag}")
    answer: str = click.prompt(label, default=default, err=True, hide_input=secret)
    return answer


def parsed(label: str, flag: str, parse: Callable[[str], T], default: str) -> T:
    """One line that means something; asked again until it does."""
    while True:
        try:
            return parse(text(label, flag, default))
        except ValueError as error:
            click.echo(f"{error}", err=True)


def choice(label: str, flag: str, choices: Sequence[str], default: str | None = None) -> str:
    """One of a few words."""
    if not possible():
        raise MissingAnswer(f"{label} is missing: give {flag} ({', '.join(choices)})")
    kind = click.Choice(list(choices))
    answer: str = click.prompt(label, type=kind, default=default, err=True)
    return answer


def pick(label: str, flag: str, names: Sequence[str]) -> str:
    """One of the things that are there, by its number or name."""
    if not names:
        raise Failure(f"there is nothing to choose as {label.lower()}")
    if not possible():
        raise MissingAnswer(f"{label} is missing: give {flag}")
    for number, name in enumerate(names, 1):
        click.echo(f"  {number}) {name}", err=True)
    while True:
        answer = text(label, flag, names[0] if len(names) == 1 else None)
        if answer in names:
            return answer
        if answer.isdecimal() and 0 < int(answer) <= len(names):
            return names[int(answer) - 1]
        click.echo(f"{answer!r} is not among them", err=True)


def confirm(question: str, force: bool) -> None:
    """Go on only after a yes. `force` is the flag -f, which says it beforehand."""
    if force:
        return
    if not possible():
        raise MissingAnswer(f"{question} Nobody is there to answer: give -f to do it")
    if not click.confirm(question, err=True):
        raise Failure("nothing was done")
