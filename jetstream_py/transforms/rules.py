"""Which subject transforms are possible, and the words for those that are not.

A destination is a subject whose tokens may call functions on the source's wildcards: `{{wildcard(1)}}`
or `$1`, `{{partition(3,1,2)}}`, `{{split(1,-)}}`, `{{left(1,2)}}`, `{{random(5)}}` and their kin.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from typing import Final, NamedTuple

_CALL: Final = re.compile(r"\{\{\s*(\w+)\s*\((.*)\)\s*\}\}\Z", re.DOTALL)
_DOLLAR: Final = re.compile(r"\$([0-9]{1,18})\Z")
_ARGUMENTS: Final = re.compile(r",\s*")
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}\Z")
_BLANK: Final = re.compile(r"[ \t\n\r\f]")
_INT32: Final = (-(2**31), 2**31 - 1)
_INT64: Final = (-(2**63), 2**63 - 1)

BAD_SUBJECT: Final = "invalid subject"
_FEW: Final = "not enough arguments passed to the function"
_MANY: Final = "too many arguments passed to the function"
_BAD: Final = "function argument is invalid or in the wrong format"
_UNKNOWN: Final = "unknown function"
_RANGE: Final = "wildcard index out of range"
_ONLY_WILDCARD: Final = "the only mapping function allowed for import transforms is {{Wildcard()}}"
_UNUSED: Final = "not using all of the token wildcard(s)"


class TransformError(Exception):
    """The destination cannot be made from the source."""


class Call(NamedTuple):
    """What a token of a destination asks for: the wildcards it takes, by number from 1."""

    wildcards: tuple[int, ...]
    needs_wildcards: bool = True  # partition and random work without


_WORD: Final = Call((), needs_wildcards=False)


def check_transform(source: str, destination: str) -> None:
    """Raise `TransformError` unless subjects under `source` can become `destination`."""
    if not destination:
        return
    source = source or ">"
    tokens = destination.split(".")
    tail = source == ">" or source.endswith(".>")
    if not (_is_pattern(source) and _is_pattern(destination)):
        raise TransformError(BAD_SUBJECT)
    if "*" in tokens or tail != (tokens[-1] == ">"):
        raise TransformError(BAD_SUBJECT)
    wildcards = source.split(".").count("*")
    for token in tokens:
        call = _call(token)
        if not (wildcards or tail) and call.needs_wildcards:
            raise _mapping(f"{_RANGE} in {token}")
        for index in call.wildcards:
            if index > wildcards and (wildcards or tail):
                raise _mapping(f"{_RANGE} in {token}: [{index}]")


def check_mapping(destination: str) -> None:
    """Raise `TransformError` unless each token is a word or a function that we know."""
    if destination:
        _check_tokens(destination.split("."))


def check_rename(source: str, destination: str) -> None:
    """Raise `TransformError` unless `destination` is `source` by another name: each of its wildcards
    has a place there, by its number or as the next `*`, and nothing else is done to it."""
    tokens = _numbered(destination.split("."))
    for token in tokens:
        if _is_call(token) and _reader(token) not in (None, _wildcard):
            raise _mapping(f"{_ONLY_WILDCARD} in {token}")
    name = ".".join(tokens)
    check_transform(source, name)
    used = sum(_call(token).needs_wildcards for token in tokens)
    if used < source.split(".").count("*"):
        raise _mapping(f"{_UNUSED} in {name}")


def _numbered(tokens: list[str]) -> list[str]:
    """Each `*` as `$1`, `$2`, and so on."""
    numbers = count(1)
    return [f"${next(numbers)}" if word == "*" else word for word in tokens]


def parse_token(token: str) -> tuple[str, list[str]] | None:
    """The function that a token of a checked destination calls, in small letters, and its arguments."""
    if match := _DOLLAR.match(token):
        return "wildcard", [match[1]]
    match = _CALL.match(token) if _is_call(token) else None
    return (match[1].lower(), _ARGUMENTS.split(match[2])) if match else None


def _is_pattern(subject: str) -> bool:
    tokens = subject.split(".")
    return all(tokens) and ">" not in tokens[:-1]


def _check_tokens(tokens: list[str]) -> None:
    for i, token in enumerate(tokens):
        if not token:
            raise _mapping("invalid transform")
        if i and tokens[i - 1] == ">":
            raise _mapping(f"invalid transform in {token}")
        if not _is_call(token):
            if _BLANK.search(token):
                raise _mapping("invalid transform")
        elif _reader(token) is None:
            raise _mapping(f"{_UNKNOWN} in {token}")


def _call(token: str) -> Call:
    if match := _DOLLAR.match(token):
        return Call((int(match[1]),))
    if not _is_call(token):
        return _WORD
    reader = _reader(token)
    if reader is None:
        raise _mapping(f"{_UNKNOWN} in {token}")
    try:
        return reader(_ARGUMENTS.split(token[token.index("(") + 1 : token.rindex(")")]))
    except ValueError as fault:
        raise _mapping(f"{fault} in {token}") from None


def _is_call(token: str) -> bool:
    return token.startswith("{{") and token.endswith("}}") and len(token) > 4


def _reader(token: str) -> Callable[[list[str]], Call] | None:
    match = _CALL.match(token)
    return _FUNCTIONS.get(match[1]) if match else None


def _mapping(text: str) -> TransformError:
    return TransformError(f"invalid mapping destination: {text}")


# -- the functions' arguments ----------------------------------------------------------------------


def _wildcard(arguments: list[str]) -> Call:
    if arguments == [""]:
        raise ValueError(_FEW)
    if len(arguments) > 1:
        raise ValueError(_MANY)
    return Call((_integer(arguments[0], _INT64),))


def _partition(arguments: list[str]) -> Call:
    _integer(arguments[0], _INT32)
    return Call(tuple(_integer(each, _INT64) for each in arguments[1:]), needs_wildcards=False)


def _split(arguments: list[str]) -> Call:
    index, delimiter = _two(arguments)
    if " " in delimiter or "." in delimiter:
        raise ValueError(_BAD)
    return Call((_integer(index, _INT64),))


def _position(arguments: list[str]) -> Call:
    index, position = _two(arguments)
    call = Call((_integer(index, _INT64),))
    _integer(position, _INT32)
    return call


def _random(arguments: list[str]) -> Call:
    if len(arguments) != 1:
        raise ValueError(_FEW)
    _integer(arguments[0], _INT32)
    return Call((), needs_wildcards=False)


def _two(arguments: list[str]) -> tuple[str, str]:
    if len(arguments) < 2:
        raise ValueError(_FEW)
    if len(arguments) > 2:
        raise ValueError(_MANY)
    return arguments[0], arguments[1]


def _integer(text: str, bounds: tuple[int, int]) -> int:
    text = text.strip()
    if not _INTEGER.match(text) or not bounds[0] <= int(text) <= bounds[1]:
        raise ValueError(_BAD)
    return int(text)


def _spellings(*words: str) -> list[str]:
    """A name in camel case, where the first letter of each word may be small or large."""
    names = [""]
    for word in words:
        names = [name + form for name in names for form in (word, word.capitalize())]
    return names


_FUNCTIONS: Final = {
    name: reader
    for words, reader in (
        (("wildcard",), _wildcard),
        (("partition",), _partition),
        (("split",), _split),
        (("split", "from", "left"), _position),
        (("split", "from", "right"), _position),
        (("slice", "from", "left"), _position),
        (("slice", "from", "right"), _position),
        (("left",), _position),
        (("right",), _position),
        (("random",), _random),
    )
    for name in _spellings(*words)
}
