"""The log: what one group removed from one stream, and how the counts per subject changed.

Tombstones here replace B-tree deletes: a random delete costs a few bytes instead of a page. `floor` says
that everything below it is gone, `last_seq` keeps the counter alive when every block is, `deltas` let
start-up restore the counts without reading the messages that died. Records are dropped when a checkpoint
covers them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from .block import column, uncolumn
from .checksum import Extend, seal, unseal

VERSION = 1
_decode = msgspec.msgpack.Decoder(tuple[int, int, int, int, int, bytes, bytes, bytes, bytes]).decode


class Entry(NamedTuple):
    """One group's record. `dead` are pairs of sequence and size."""

    floor: int
    last_seq: int
    last_ts: int
    dead: Sequence[tuple[int, int]]
    deltas: Mapping[bytes, int]


def pack(entry: Entry, extend: Extend) -> bytes:
    seqs = [seq for seq, _ in entry.dead]
    base = min(seqs, default=0)
    offsets = [seq - base for seq in seqs]
    code = "I" if max(offsets, default=0) < 1 << 32 else "Q"
    deltas = {name: delta for name, delta in entry.deltas.items() if delta}
    body = msgspec.msgpack.encode(
        (
            VERSION,
            entry.floor,
            entry.last_seq,
            entry.last_ts,
            base,
            column(code, offsets),
            column("I", [size for _, size in entry.dead]),
            b"\n".join(deltas),
            column("i", list(deltas.values())),
        )
    )
    return seal(extend, body)


def unpack(data: bytes, extend: Extend) -> Entry | None:
    """The entry, or None when it is damaged or of an unknown version."""
    body = unseal(extend, data)
    if body is None:
        return None
    version, floor, last_seq, last_ts, base, offsets, sizes, names, deltas = _decode(body)
    if version != VERSION:
        return None
    code = "I" if len(offsets) == len(sizes) else "Q"
    seqs = [base + offset for offset in uncolumn(code, offsets)]
    changes = uncolumn("i", deltas)
    named = dict(zip(names.split(b"\n"), changes, strict=True)) if changes else {}
    return Entry(
        floor, last_seq, last_ts, list(zip(seqs, uncolumn("I", sizes), strict=True)), named
    )
