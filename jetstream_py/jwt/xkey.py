"""Sealed messages between a server and an auth callout service: X25519 boxes.

A sealed message is `xkv1`, 24 random bytes and the box. PyNaCl (extra `auth`) does the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jetstream_py import nkey

if TYPE_CHECKING:
    from nacl.public import Box, PrivateKey

_VERSION = b"xkv1"
_NONCE = 24


class XKey:
    """A curve key: what it seals only the receiver opens, and knows that it came from here."""

    __slots__ = ("_key", "public")

    def __init__(self, seed: str) -> None:
        nkey.require_nacl()
        from nacl.public import PrivateKey

        kind, raw = nkey.decode_seed(seed)
        if kind != nkey.CURVE:
            raise ValueError("not the seed of a curve key")
        self._key: PrivateKey = PrivateKey(raw)
        self.public = nkey.encode(nkey.CURVE, bytes(self._key.public_key))

    def seal(self, data: bytes, receiver: str, nonce: bytes) -> bytes:
        """`nonce` are 24 random bytes, never used twice."""
        if len(nonce) != _NONCE:
            raise ValueError("a nonce has 24 bytes")
        return _VERSION + bytes(self._box(receiver).encrypt(data, nonce))

    def open(self, sealed: bytes, sender: str) -> bytes | None:
        """None for whatever the sender did not seal for this key."""
        from nacl.exceptions import CryptoError

        if not sealed.startswith(_VERSION) or len(sealed) <= len(_VERSION) + _NONCE:
            return None
        try:
            return self._box(sender).decrypt(sealed[len(_VERSION) :])
        except (CryptoError, ValueError):
            return None

    def _box(self, other: str) -> Box:
        from nacl.public import Box, PublicKey

        kind, raw = nkey.decode(other)
        if kind != nkey.CURVE:
            raise ValueError("not a public curve key")
        return Box(self._key, PublicKey(raw))
