"""Subjects made from subjects: what a stream stores a message under, and where it republishes it.

A transform is compiled once, when a configuration is taken, into one small function per
token of the destination. `rules` has checked it before. The odd corners are those of
nats-server: a wildcard that is not there (`$0`) is the subject's first token, a length that does not fit
leaves the token whole, and a delimiter at the edge of a token may leave an empty one behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from jetstream_py.transforms.rules import parse_token

Chance = Callable[[int], int]  # a number from 0 up to, not including, the given one

# A token of the destination, from the tokens of the subject.
Make = Callable[[list[bytes]], bytes]


class Transform:
    """Made by `compile_transform`; call it with a literal subject."""

    __slots__ = ("_makers", "_source", "_tail")

    def __init__(self, source: list[bytes], makers: list[Make], tail: bool) -> None:
        self._source = source
        self._makers = makers
        self._tail = tail

    def __call__(self, subject: bytes) -> bytes | None:
        """The new subject, or None when this one is not meant."""
        tokens = subject.split(b".")
        source = self._source
        if len(tokens) <= len(source) if self._tail else len(tokens) != len(source):
            return None
        for want, token in zip(source, tokens, strict=False):
            if want not in (b"*", token):
                return None
        made = [make(tokens) for make in self._makers]
        if self._tail:
            made += tokens[len(source) :]
        return b".".join(made)


def compile_transform(source: str, destination: str, chance: Chance) -> Transform | None:
    """None when there is no destination: then subjects stay as they are."""
    if not destination:
        return None
    wanted = (source or ">").encode().split(b".")
    tail = wanted[-1] == b">"
    if tail:
        wanted.pop()
    at = [i for i, token in enumerate(wanted) if token == b"*"]
    tokens = destination.split(".")
    if tail:
        tokens.pop()
    return Transform(wanted, [_maker(token, at, chance) for token in tokens], tail)


def _maker(token: str, at: list[int], chance: Chance) -> Make:
    call = parse_token(token)
    if call is None:
        word = token.encode()
        return lambda tokens: word
    name, arguments = call
    if name == "random":
        return _random(int(arguments[0]), chance)
    if name == "partition":
        return _partition(int(arguments[0]), [_place(each, at) for each in arguments[1:]])
    place = _place(arguments[0], at)
    if name == "wildcard":
        return lambda tokens: tokens[place]
    if name == "split":
        delimiter = arguments[1].encode()
        return lambda tokens: _split(tokens[place], delimiter)
    cut, size = _CUTS[name], int(arguments[1])
    return lambda tokens: (
        cut(tokens[place], size) if 0 < size < len(tokens[place]) else tokens[place]
    )


def _place(argument: str, at: list[int]) -> int:
    """Where in the subject the wildcard of that number is."""
    number = int(argument)
    return at[number - 1] if 0 < number <= len(at) else 0


def _random(count: int, chance: Chance) -> Make:
    return lambda tokens: b"%d" % (chance(abs(count)) if count else 0)


def _partition(count: int, places: list[int]) -> Make:
    count &= 0xFFFFFFFF

    def make(tokens: list[bytes]) -> bytes:
        key = b"".join([tokens[place] for place in places]) if places else b".".join(tokens)
        return b"%d" % (fnv1a(key) % count if count else 0)

    return make


def fnv1a(data: bytes) -> int:
    """FNV-1a, 32 bits."""
    value = 0x811C9DC5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def _split(token: bytes, delimiter: bytes) -> bytes:
    """The parts as tokens; empty ones are left out, unless nothing else is left."""
    if not delimiter:
        return b".".join([token[i : i + 1] for i in range(len(token))])
    return b".".join([part for part in token.split(delimiter) if part])


def _slices_from_right(token: bytes, size: int) -> bytes:
    rest = len(token) % size
    parts = [token[i : i + size] for i in range(rest, len(token), size)]
    return b".".join([token[:rest], *parts] if rest else parts)


# Functions of a token and a length that fits into it.
_CUTS: Final[dict[str, Callable[[bytes, int], bytes]]] = {
    "splitfromleft": lambda token, size: token[:size] + b"." + token[size:],
    "splitfromright": lambda token, size: token[:-size] + b"." + token[-size:],
    "slicefromleft": lambda token, size: b".".join(
        [token[i : i + size] for i in range(0, len(token), size)]
    ),
    "slicefromright": _slices_from_right,
    "left": lambda token, size: token[:size],
    "right": lambda token, size: token[-size:],
}
