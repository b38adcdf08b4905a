"""What commands print: tables and colours on a terminal, plain lines in a pipe, JSON when asked for.

Names come from servers and may hold anything, so nothing is read as markup and control characters are
shown as escapes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

import click

WIDE: Final = 1_000_000  # columns of a pipe: nothing is cut or wrapped

Facts = Sequence[tuple[str, object]]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def terminal() -> bool:
    return sys.stdout.isatty()


def safe(text: object) -> str:
    """Text that cannot move the cursor or change colours."""
    if isinstance(text, bool):
        return "true" if text else "false"
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", str(text))


def line(text: str = "") -> None:
    click.echo(text)


def note(text: str) -> None:
    """For people, beside the output."""
    click.echo(text, err=True)


def data(value: object) -> None:
    """JSON for programs."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def raw(payload: bytes) -> None:
    """A message as it is, then a newline."""
    click.echo(payload)


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    right: Sequence[str] = (),
) -> None:
    """`right` names the columns of numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    on_terminal = terminal()
    made = Table(
        title=Text(title, style="bold") if on_terminal else None,
        box=box.ROUNDED if on_terminal else None,
        pad_edge=on_terminal,
        padding=(0, 1) if on_terminal else (0, 2, 0, 0),
        header_style="bold" if on_terminal else "",
    )
    for name in columns:
        made.add_column(Text(name), justify="right" if name in right else "left")
    for row in rows:
        made.add_row(*(Text(safe(cell)) for cell in row))
    if on_terminal:
        Console(highlight=False).print(made)
        return
    console = Console(width=WIDE, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(made)
    click.echo("\n".join(text.rstrip() for text in captured.get().splitlines()))


def facts(title: str, sections: Sequence[tuple[str, Facts]]) -> None:
    """A title, and names with values under headings; values that are None are left out."""
    kept = [
        (heading, [(name, value) for name, value in pairs if value is not None])
        for heading, pairs in sections
    ]
    width = max((len(name) for _, pairs in kept for name, _ in pairs), default=0)
    on_terminal = terminal()
    click.echo(click.style(safe(title), bold=True) if on_terminal else safe(title))
    for heading, pairs in kept:
        if not pairs:
            continue
        click.echo(f"\n{heading}:\n" if heading else "")
        for name, value in pairs:
            label = f"{name:>{width + 2}}:"
            lines = value if isinstance(value, list) else [value]
            click.echo(
                f"{click.style(label, fg='cyan') if on_terminal else label} {safe(lines[0])}"
            )
            for more in lines[1:]:
                click.echo(" " * (width + 4) + safe(more))


def print_difference(lines: Sequence[str], beside: bool) -> None:
    """`beside` the output where that is for programs."""
    coloured = sys.stderr.isatty() if beside else terminal()
    click.echo("Differences (-old +new):", err=beside)
    for text in lines:
        colour = "red" if text.startswith("-") else "green"
        click.echo(click.style(safe(text), fg=colour) if coloured else safe(text), err=beside)


class Advance(Protocol):
    """Says how far it is: done, and the total when it has changed."""

    def __call__(self, done: float, total: float | None = None) -> None: ...


@contextmanager
def progress(
    label: str, total: float | None, unit: str = "messages", wanted: bool = True
) -> Iterator[Advance]:
    """A bar on a terminal's standard error, nothing elsewhere. `unit` may be "bytes"."""
    if not (wanted and sys.stderr.isatty()):
        yield lambda done, total=None: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    amount = DownloadColumn(binary_units=True) if unit == "bytes" else MofNCompleteColumn()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), amount, Remaining())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(safe(label), total=total)

        def advance(done: float, total: float | None = None) -> None:
            bar.update(task, completed=done, total=total)

        yield advance
