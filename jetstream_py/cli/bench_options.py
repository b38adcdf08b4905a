"""Options that all benchmarks take."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import click

from jetstream_py.cli.bench_load import Load
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.frame import SIZE
from jetstream_py.cli.views import View

Decorator = Callable[[Any], Any]
MOST_CLIENTS: Final = 1000
_SCALE: Final = {"": 1, "k": 1000, "m": 1_000_000}


class Count(click.ParamType[int]):
    """`100k`, `1M`: how many."""

    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+)([km]?)", value.replace(",", "").lower())
        if found is None or not int(found[1]):
            self.fail(f"{value!r} is no number like 5000, 100k or 1M", param, ctx)
        return int(found[1]) * _SCALE[found[2]]


COUNT: Final = Count()


def load_options(*, msgs: int = 100_000, size: int = 128) -> Decorator:
    """--clients, --msgs, --size, --progress."""

    def decorate(function: Any) -> Any:
        options: list[Decorator] = [
            click.option(
                "--clients",
                type=click.IntRange(1, MOST_CLIENTS),
                default=1,
                show_default=True,
                help="Connections",
            ),
            click.option(
                "--msgs",
                type=COUNT,
                default=msgs,
                show_default=True,
                help="Messages of all clients",
            ),
            click.option("--size", type=SIZE, default=size, show_default=True, help="Of a message"),
            click.option("--progress/--no-progress", default=True, help="Show how far it is [yes]"),
        ]
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def store_options(what: str, name: str) -> Decorator:
    """--stream, --bucket or --store; what is not there is made, and removed at the end."""

    def decorate(function: Any) -> Any:
        storage = click.Choice(["file", "memory"])
        options: list[Decorator] = [
            click.option(
                f"--{what}", default=name, show_default=True, help="Made if it is not there"
            ),
            click.option("--keep", is_flag=True, help="Do not remove what was made"),
            click.option("--storage", type=storage, default="file", show_default=True),
        ]
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def loaded(view: View, given: dict[str, Any], chunked: bool = False) -> Load:
    """`chunked` things may be larger than a message. Raises `Failure`."""
    load = Load(view.settings, **given)
    most = view.server_info.get("max_payload", 0)
    if load.size < 0:
        raise click.BadParameter("a size has no end here", param_hint="--size")
    if most and load.size > most and not chunked:
        raise Failure(f"{load.size:,} bytes are more than the server takes ({most:,})")
    return load
