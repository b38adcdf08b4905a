"""Identifiers in the form of NUIDs: 22 characters, unique, cheap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
PREFIX: Final = 12
LENGTH: Final = 22
_MOST: Final = len(DIGITS) ** (LENGTH - PREFIX)


class Nuid:
    """A random start and a count: `next` never repeats within one object."""

    __slots__ = ("_count", "_prefix")

    def __init__(self, random_bytes: Callable[[int], bytes]) -> None:
        self._prefix = "".join(DIGITS[byte % 62] for byte in random_bytes(PREFIX))
        self._count = int.from_bytes(random_bytes(7), "big") % _MOST

    def next(self) -> str:
        self._count = rest = (self._count + 1) % _MOST
        digits = []
        for _ in range(LENGTH - PREFIX):
            rest, digit = divmod(rest, 62)
            digits.append(DIGITS[digit])
        return self._prefix + "".join(reversed(digits))
