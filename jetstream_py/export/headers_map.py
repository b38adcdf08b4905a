"""Header blocks and maps of headers.

A map has each name once, with all its values in order. That is what people ask for; it is also less than
a block says. `parse` tells whether `render` would make the same block of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from jetstream_py.headers import START

Headers = dict[bytes, list[bytes]]

_FIRST: Final = START + b"\r\n"
_END: Final = b"\r\n\r\n"


def parse(block: bytes) -> tuple[Headers, bool]:
    """The headers, as UTF-8, and whether they are all that the block says."""
    exact = block.isascii() or _is_text(block)
    if not exact:
        block = block.decode("utf-8", "backslashreplace").encode()
    exact = exact and block.startswith(_FIRST) and block.endswith(_END)
    found: Headers = {}
    last = b""
    for line in block.removesuffix(_END).split(b"\r\n")[1:]:
        name, colon, rest = line.partition(b":")
        value = rest.strip(b" \t")
        if not (name and colon):
            exact = False
            continue
        values = found.get(name)
        if values is None:
            found[name] = [value]
        else:
            values.append(value)
            exact = exact and name == last
        last = name
        exact = exact and rest == b" " + value
    return found, exact and bool(found)


def _is_text(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def render(headers: Mapping[str, Sequence[str]]) -> bytes:
    """The usual block of these headers; nothing, if there are none."""
    if not headers:
        return b""
    lines = [f"{name}: {value}\r\n" for name, values in headers.items() for value in values]
    return _FIRST + "".join(lines).encode() + b"\r\n"
