"""Names that nats-server makes from names."""

from __future__ import annotations

import hashlib

from jetstream_py.nuid import DIGITS


def short_hash(text: str) -> str:
    """Eight characters for a name."""
    return "".join(DIGITS[byte % 62] for byte in hashlib.sha256(text.encode()).digest()[:8])
