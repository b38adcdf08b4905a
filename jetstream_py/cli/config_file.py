"""Configurations from files and editors, and the way from options to fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from jetstream_py.cli import ask, show, units
from jetstream_py.cli.connect import Session
from jetstream_py.cli.failure import Failure
from jetstream_py.migrate.connection import Json

# flag without dashes, field (dots lead into objects), type or `bool`, help
Field = tuple[str, str, Any, str]
PAIRS: Final = "K=V"
SIZES: Final = ("max_bytes", "max_msg_size")
DURATIONS: Final = (
    "ack_wait",
    "duplicate_window",
    "idle_heartbeat",
    "inactive_threshold",
    "max_age",
    "max_expires",
    "priority_timeout",
    "subject_delete_marker_ttl",
)


def read(file: Path) -> Json:
    """A configuration, alone or under `config` as in an info or a backup. Raises `Failure`."""
    try:
        found = json.loads(file.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"cannot read {file}: {error}") from None
    except ValueError as error:
        raise Failure(f"{file} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise Failure(f"{file} holds no JSON object")
    inner = found.get("config")
    return inner if isinstance(inner, dict) else found


def write(file: Path, config: Json) -> None:
    file.write_text(json.dumps(config, indent=2) + "\n")


def edited(config: Json) -> Json:
    """In the editor of whoever sits there."""
    if not ask.possible():
        raise click.UsageError("nothing to change: give options or --config FILE")
    text = click.edit(json.dumps(config, indent=2), extension=".json")
    if text is None:
        raise Failure("nothing was changed")
    try:
        found: Json = json.loads(text)
    except ValueError as error:
        raise Failure(f"what the editor left is no JSON: {error}") from None
    return found


def options(fields: Sequence[Field]) -> Callable[[Any], Any]:
    """Decorate a verb with an option for each field; nothing given is None."""

    def decorate(function: Any) -> Any:
        for flag, _, kind, text in reversed(fields):
            function = _option(flag, kind, text)(function)
        return function

    return decorate


def _option(flag: str, kind: Any, text: str) -> Any:
    if kind is bool:
        return click.option(f"--{flag}/--no-{flag}", default=None, help=text)
    if kind is list:
        return click.option(f"--{flag}", multiple=True, metavar="NAME", help=text)
    if kind == PAIRS:
        return click.option(f"--{flag}", multiple=True, metavar=PAIRS, help=text)
    return click.option(f"--{flag}", type=kind, default=None, help=text)


def apply(config: Json, fields: Sequence[Field], given: Mapping[str, Any]) -> bool:
    """Put what was given into the configuration; whether there was anything."""
    any_given = False
    for flag, path, kind, _ in fields:
        value = given[flag.replace("-", "_")]
        if value is None or value == ():
            continue
        any_given = True
        *outer, last = path.split(".")
        place = config
        for name in outer:
            place = place.setdefault(name, {})
        place[last] = _value(flag, kind, value)
    return any_given


def _value(flag: str, kind: Any, value: Any) -> Any:
    if kind is list:
        return [part for text in value for part in text.replace(",", " ").split()]
    if kind != PAIRS:
        return value
    pairs = {}
    for text in value:
        name, sign, content = text.partition("=")
        if not (name and sign):
            raise click.BadParameter(f"{text!r} is no K=V", param_hint=f"--{flag}")
        pairs[name] = content
    return pairs


def difference(old: Json, new: Json) -> list[str]:
    """Lines with - and + for the fields that differ."""
    lines = []
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            lines += [f"- {name}: {_human(name, old[name])}"] if name in old else []
            lines += [f"+ {name}: {_human(name, new[name])}"] if name in new else []
    return lines


def _human(name: str, value: Any) -> str:
    if name in DURATIONS and isinstance(value, int):
        return units.limit(value, units.duration)
    if name in SIZES and isinstance(value, int):
        return units.limit(value, units.size)
    return json.dumps(value)


def approve(session: Session, old: Json, new: Json, name: str, force: bool, dry_run: bool) -> bool:
    """Show what would change and ask; whether to go on. Raises `Failure` for a no."""
    lines = difference(old, new)
    if not lines:
        show.note(f"Nothing differs, {name} stays as it is")
        return False
    show.print_difference(lines, beside=session.json and not dry_run)
    if dry_run:
        return False
    ask.confirm(f"Really change {name}?", force)
    return True
