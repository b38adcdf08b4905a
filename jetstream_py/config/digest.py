"""The digest of a configuration, as `-t`, the reload log and `/varz` show it.

It is taken over the parsed tree and not over the file: nats-server hashes the JSON text that Go
writes for the tree, so comments, layout and the order of keys do not count, and values from the
environment do. The same file gives the same digest on both servers.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from jetstream_py import gotext, limits
from jetstream_py.config.errors import ConfigError
from jetstream_py.config.parser import Block, Data


def digest(tree: Block) -> str:
    """`sha256:` and 64 hexadecimal digits."""
    from hashlib import sha256  # only servers with a file need OpenSSL at start

    state = sha256()
    # Variables can make a small file stand for an enormous tree.
    room = 4 * limits.CONFIG_FILE_SIZE
    for piece in _json(tree):
        room -= len(piece)
        if room < 0:
            raise ConfigError("the configuration is too large once its variables are replaced")
        state.update(piece)
    state.update(b"\n")
    return f"sha256:{state.hexdigest()}"


def _json(data: Data) -> Iterator[bytes]:
    match data:
        case dict():
            opener, closer = b"{", b"}"
            keys = sorted((_clean(key), key) for key in data)
            children = ((_string(clean) + b":", data[key].data) for clean, key in keys)
        case list():
            opener, closer = b"[", b"]"
            children = ((b"", item.data) for item in data)
        case _:
            yield _scalar(data)
            return
    yield opener
    for position, (prefix, child) in enumerate(children):
        yield b"," + prefix if position else prefix
        yield from _json(child)
    yield closer


def _scalar(data: str | bool | int | float | datetime) -> bytes:
    match data:
        case str():
            return _string(_clean(data))
        case bool():
            return b"true" if data else b"false"
        case int():
            return b"%d" % data
        case float():
            return _float(data)
        case datetime():
            return data.strftime('"%Y-%m-%dT%H:%M:%SZ"').encode()


def _float(number: float) -> bytes:
    """The shortest form, with an exponent only for the very small and the very large."""
    text = repr(number)
    mantissa, exponent_mark, exponent = text.partition("e")
    mantissa = mantissa.removesuffix(".0")
    if number and not 1e-6 <= abs(number) < 1e21:
        if not exponent_mark:
            mantissa, _, exponent = f"{number:e}".partition("e")
        sign = "-" if exponent.startswith("-") else "+"
        digits = exponent.lstrip("+-0")
        return f"{mantissa}e{sign}{digits.rjust(1 if sign == '-' else 2, '0')}".encode()
    if exponent_mark:
        text = f"{number:.0f}" if abs(number) >= 1 else f"{number:.{_places(text)}f}"
        return text.encode()
    return mantissa.encode()


def _places(text: str) -> int:
    """Digits behind the point that `text`, a number with a negative exponent, needs without it."""
    mantissa, _, exponent = text.partition("e-")
    return int(exponent) + len(mantissa.partition(".")[2])


def _string(text: str) -> bytes:
    return gotext.escape_json(msgspec.json.encode(text))


def _clean(text: str) -> str:
    """Bytes that are no UTF-8 cannot stand in JSON."""
    return gotext.utf8(text.encode("utf-8", "surrogateescape"))
