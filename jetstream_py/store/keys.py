"""Keys of the six databases. Integers in keys are big-endian, so keys sort like numbers.

`sid` is a stream's id: a number that is never used again. No name from the wire is part of a key,
except of those that the engine chooses for its own records (`user_key`).
"""

from __future__ import annotations

import struct
from typing import Final

DATABASES: Final = (b"meta", b"blk", b"dir", b"log", b"sub", b"fat")

FORMAT: Final = b"format"
NEXT_SID: Final = b"next"
TAKEN: Final = b"wal"  # the last generation of the write-ahead log that is in here

_SEQ = struct.Struct(">IQ")
_RUN = struct.Struct(">III")
_PART = struct.Struct(">IQI")
_SID = struct.Struct(">I")

seq_key = _SEQ.pack  # blk, dir (first sequence of the block), log (lsn)
seq_unkey = _SEQ.unpack
run_key = _RUN.pack  # sub: sid, generation, run
run_unkey = _RUN.unpack
part_key = _PART.pack  # fat: sid, sequence, part
prefix = _SID.pack  # all keys of a stream start with it


def config_key(sid: int) -> bytes:
    return b"S" + _SID.pack(sid)


def checkpoint_key(sid: int) -> bytes:
    return b"K" + _SID.pack(sid)


def doomed_key(sid: int) -> bytes:
    """Marks a deleted stream whose blocks are not all gone yet."""
    return b"D" + _SID.pack(sid)


def user_key(key: bytes) -> bytes:
    return b"u" + key


def sid_of(key: bytes) -> int:
    """The stream of a key in any database, or of a one-letter key in `meta`."""
    number: int = _SID.unpack_from(key, 1 if len(key) == 5 else 0)[0]
    return number
