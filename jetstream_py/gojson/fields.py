"""Structs that are read from JSON, and the kinds of their fields.

Two habits of Go's structs are declared here once: fields that are left out when empty against fields
that are always there, and the Go types that error texts name.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")


class Wire(msgspec.Struct, omit_defaults=True):
    """A JSON object with its fields in order; those that hold their default are left out.

    By convention nobody changes one: `msgspec.structs.replace` makes the changed copy.
    `go_name` is what error texts call it, `go_pointer` whether lists hold references to it.
    """

    go_name: ClassVar[str] = ""
    go_pointer: ClassVar[bool] = False


def always(value: T) -> T:
    """A default for a field that is sent even when it holds it."""
    # msgspec only leaves out defaults that it can see.
    field: T = msgspec.field(default_factory=lambda: value)
    return field


class Number(NamedTuple):
    """An integer type of Go, with its bounds."""

    name: str
    low: int
    high: int


class Text(NamedTuple):
    """A string type of Go that has a name."""

    name: str


Int: Final = Number("int", -(2**63), 2**63 - 1)
Int32: Final = Number("int32", -(2**31), 2**31 - 1)
Int64: Final = Number("int64", -(2**63), 2**63 - 1)
UInt64: Final = Number("uint64", 0, 2**64 - 1)
Nanoseconds: Final = Number("time.Duration", -(2**63), 2**63 - 1)

int_ = Annotated[int, Int]
int32 = Annotated[int, Int32]
int64 = Annotated[int, Int64]
uint64 = Annotated[int, UInt64]
duration = Annotated[int, Nanoseconds]  # nanoseconds
