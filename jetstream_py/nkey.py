"""Public identifiers in the form of nkeys: a kind letter, 32 bytes, a check sum, in base32."""

from __future__ import annotations

import base64
import binascii

SERVER = 13 << 3  # text starts with N
CURVE = 23 << 3  # text starts with X


def encode(kind: int, key: bytes) -> str:
    """The 56 characters that name a 32-byte public key."""
    if len(key) != 32:
        raise ValueError("a public key has 32 bytes")
    raw = bytes([kind]) + key
    return base64.b32encode(raw + binascii.crc_hqx(raw, 0).to_bytes(2, "little")).decode()
