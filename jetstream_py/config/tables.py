"""How a block of the configuration is described and read: a table of keys, one row per key.

A row is `supported` (it sets something), `ignored` (known, has no effect here, a warning says so) or
`refused` (known, and a server that ignored it would be less safe than its owner believes). When a
feature arrives, its row changes and nothing else in this package does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from jetstream_py import gotext
from jetstream_py.config import kinds
from jetstream_py.config.draft import Draft, Problem, Refusal
from jetstream_py.config.parser import Block, Value
from jetstream_py.config.scanner import Position

# Does to the options what a key stands for: the draft, the value as parsed, the value as read.
Setter: TypeAlias = Callable[[Draft, Value, Any], None]


class Key(msgspec.Struct, frozen=True):
    """One key of a block. The first of `names` is the one that the documentation uses."""

    names: tuple[str, ...]
    kind: kinds.Kind
    sets: tuple[str, ...] = ()  # fields of Options
    set: Setter | None = None  # how, when it is more than storing the value in the one field
    zero_is_default: bool = False  # 0 stands for "not given", as for nats-server
    status: Literal["supported", "ignored", "refused"] = "supported"
    note: str = ""


Table: TypeAlias = Mapping[str, Key]

UNKNOWN: Final = "unknown field {}"


def table(*keys: Key) -> Table:
    """All names, aliases too, to their rows."""
    return {name: key for key in keys for name in key.names}


def key(
    names: str,
    kind: kinds.Kind,
    sets: str,
    note: str = "",
    set: Setter | None = None,
    zero_is_default: bool = False,
) -> Key:
    """A supported key; `names` and `sets` are separated by blanks."""
    return Key(tuple(names.split()), kind, tuple(sets.split()), set, zero_is_default, note=note)


def ignored(names: str, kind: kinds.Kind, note: str) -> Key:
    return Key(tuple(names.split()), kind, status="ignored", note=note)


def refused(names: str, note: str) -> Key:
    return Key(tuple(names.split()), kinds.ANYTHING, status="refused", note=note)


class Fields(msgspec.Struct):
    """What a block says, under the first names of its keys."""

    data: dict[str, Any] = {}
    at: dict[str, Position] = {}  # where it says so
    again: dict[str, Position] = {}  # where it says so once more, under another name
    last: Position | None = None  # of the last key

    def get(self, name: str, default: Any = None) -> Any:
        return self.data.get(name, default)


def read_block(keys: Table, block: Block, draft: Draft, path: str = "") -> None:
    """Apply every entry of a block; mistakes are collected in the draft."""
    for row, name, value in _known(keys, block, draft, UNKNOWN):
        with draft.attempt(value.at):
            _apply(row, name, value, draft, path)


def read_fields(
    keys: Table, block: Block, draft: Draft, path: str = "", unknown: str = UNKNOWN
) -> Fields:
    """The entries of a block that is more than a part of the options. `unknown` is for keys that are
    not in the table: nats-server has a text for most blocks."""
    fields = Fields()
    for row, name, value in _known(keys, block, draft, unknown):
        fields.last = value.at
        with draft.attempt(value.at):
            data = _read(row, name, value, draft, path)
            known = fields.again if row.names[0] in fields.at else fields.at
            known[row.names[0]] = value.at
            if row.status == "supported":
                fields.data[row.names[0]] = data
    return fields


def _known(
    keys: Table, block: Block, draft: Draft, unknown: str
) -> Iterator[tuple[Key, str, Value]]:
    for written, value in block.items():
        name = written.lower()
        if name in keys:
            yield keys[name], name, value
        elif not value.used:
            draft.errors.append(Problem(value.at, unknown.format(gotext.quote(written))))


def _read(row: Key, name: str, value: Value, draft: Draft, path: str) -> Any:
    shown = gotext.quote(path + name)
    if row.status == "refused":
        raise Refusal(f"{shown} is not supported in this version: {row.note}")
    data = row.kind.read(name, value, draft)
    if row.status == "ignored":
        draft.warnings.append(f"{value.at}: {shown} has no effect here: {row.note}")
    return data


def _apply(row: Key, name: str, value: Value, draft: Draft, path: str) -> None:
    data = _read(row, name, value, draft, path)
    if row.status == "ignored" or (row.zero_is_default and data == 0):
        return
    if row.set is not None:
        row.set(draft, value, data)
    else:
        setattr(draft.options, row.sets[0], data)
