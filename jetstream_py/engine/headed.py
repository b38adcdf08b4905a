"""Runs of messages with headers: what they ask of a stream, found out for all of them at once.

Most publishes with headers ask for nothing: their headers are the application's. Others have an id against
duplicates, or a TTL, and nothing else. A run of one of these kinds is stored as a whole; one with anything
else in it, or of several kinds, goes message by message. What a name means is `expect`'s business; here it is
only noticed that no other name of ours is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from jetstream_py import headers as hdr
from jetstream_py.engine.ttl import parse_ttl

_PLAIN: Final = hdr.START + b"\r\n"
_ID: Final = b"\r\n" + hdr.MSG_ID + b":"
_TTL: Final = b"\r\n" + hdr.TTL + b":"
MOST: Final = 65_535  # bytes of a block


class Asked(NamedTuple):
    """What the messages of a run ask for: nothing, or each the same kind of thing."""

    ids: list[bytes]
    ttls: list[int]


NOTHING: Final = Asked([], [])


def read(headers: Sequence[bytes]) -> Asked | None:
    """None for a run that is not to be stored as a whole."""
    if any(block and block[:10] != _PLAIN for block in headers) or max(map(len, headers)) > MOST:
        return None
    text = b"".join(headers)
    count = text.count(hdr.PREFIX)
    if not count:
        return NOTHING
    if count != len(headers):
        return None
    if text.count(_ID) == count:
        ids = _values(headers, _ID)
        return Asked(ids, []) if len(set(ids)) == count and all(ids) else None
    if text.count(_TTL) == count:
        values = _values(headers, _TTL)
        known = {value: parse_ttl(value) for value in set(values)}
        ttls = [ttl for value in values if (ttl := known[value])]
        return Asked([], ttls) if len(ttls) == count else None
    return None


def _values(headers: Sequence[bytes], mark: bytes) -> list[bytes]:
    """The value behind the mark of each block; nothing where there is none."""
    tails = [block.partition(mark)[2] for block in headers]
    return [tail[: tail.find(b"\r\n")].lstrip(b" ") for tail in tails]
