"""The checksum of a store: CRC32C when google-crc32c is there (5 to 20 times faster), else zlib's CRC.

The store's format record names the one it was made with; the other one never reads it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Final

from .types import StoreError

Extend = Callable[[int, bytes], int]

_U32 = struct.Struct("<I")


def _zlib(crc: int, data: bytes) -> int:
    return zlib.crc32(data, crc)


def _find() -> dict[str, Extend]:
    found: dict[str, Extend] = {"crc32": _zlib}
    try:
        import google_crc32c
    except ImportError:
        return found
    if google_crc32c.implementation == "c":
        found["crc32c"] = google_crc32c.extend
    return found


AVAILABLE: Final = _find()
BEST: Final = "crc32c" if "crc32c" in AVAILABLE else "crc32"


def choose(name: str) -> Extend:
    """The checksum function of that name."""
    if name not in AVAILABLE:
        hint = ": install google-crc32c" if name == "crc32c" else ""
        raise StoreError(f"the store uses the checksum {name!r}, which is not available{hint}")
    return AVAILABLE[name]


def seal(extend: Extend, body: bytes) -> bytes:
    """`body` with its checksum in front."""
    return _U32.pack(extend(0, body)) + body


def unseal(extend: Extend, sealed: bytes) -> bytes | None:
    """What `seal` was given, or None when it is damaged."""
    body = sealed[4:]
    if len(sealed) < 4 or _U32.unpack_from(sealed)[0] != extend(0, body):
        return None
    return body
