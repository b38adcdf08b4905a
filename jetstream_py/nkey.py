"""Keys and their names: nkeys.

A public key is written as a kind (the first letter: O operator, A account, U user, N server, C cluster,
X curve), 32 bytes and a CRC-16, in base32 without padding: 56 characters, of which every one counts. A
seed has the letter S and the kind in front of its 32 bytes. `decode` and `decode_seed` take exactly
that form: no other length, case, padding or white space.

Signatures are Ed25519 and come from PyNaCl (extra `auth`), imported when the first is needed.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacl.signing import SigningKey

ACCOUNT = 0
CLUSTER = 2 << 3
SERVER = 13 << 3
OPERATOR = 14 << 3
USER = 20 << 3
CURVE = 23 << 3
_SEED = 18 << 3
_KINDS = frozenset((ACCOUNT, CLUSTER, SERVER, OPERATOR, USER, CURVE))

_KEY = 32
_PUBLIC_TEXT = 56
_SEED_TEXT = 58
SIGNATURE = 64


def encode(kind: int, key: bytes) -> str:
    """The 56 characters that name a 32-byte public key."""
    if len(key) != _KEY:
        raise ValueError("a public key has 32 bytes")
    return _to_text(bytes([kind]) + key)


def decode(text: str) -> tuple[int, bytes]:
    """Kind and bytes of a public key."""
    raw = _from_text(text, _PUBLIC_TEXT)
    if raw[0] not in _KINDS:
        raise ValueError("not a public key")
    return raw[0], raw[1:]


def is_public(text: str, *kinds: int) -> bool:
    """Is it a public key, of one of these kinds?"""
    try:
        return decode(text)[0] in (kinds or _KINDS)
    except ValueError:
        return False


def encode_seed(kind: int, seed: bytes) -> str:
    """The 58 characters of a seed. They are a secret."""
    if kind not in _KINDS or len(seed) != _KEY:
        raise ValueError("a seed has a kind and 32 bytes")
    return _to_text(bytes([_SEED | kind >> 5, (kind & 31) << 3]) + seed)


def decode_seed(text: str) -> tuple[int, bytes]:
    """Kind and bytes of a seed."""
    raw = _from_text(text, _SEED_TEXT)
    kind = (raw[0] & 7) << 5 | raw[1] >> 3
    if raw[0] & 248 != _SEED or raw[1] & 7 or kind not in _KINDS:
        raise ValueError("not a seed")
    return kind, raw[2:]


def require_nacl() -> None:
    """A `RuntimeError` that says what to do, where PyNaCl is missing."""
    try:
        import nacl.signing  # noqa: F401
    except ImportError:
        raise RuntimeError("keys need PyNaCl: pip install 'jetstream-py[auth]'") from None


def verify(public: str, data: bytes, signature: bytes) -> bool:
    """Was `data` signed by the holder of this key? False for whatever is not a key or a signature."""
    require_nacl()
    from nacl.exceptions import CryptoError
    from nacl.signing import VerifyKey

    try:
        kind, key = decode(public)
        if kind == CURVE or len(signature) != SIGNATURE:
            return False
        VerifyKey(key).verify(data, signature)
    except (CryptoError, ValueError):
        return False
    return True


class KeyPair:
    """A seed at work: its public key and its signatures."""

    __slots__ = ("_key", "public")

    def __init__(self, seed: str) -> None:
        require_nacl()
        from nacl.signing import SigningKey

        kind, raw = decode_seed(seed)
        if kind == CURVE:
            raise ValueError("a curve key does not sign")
        self._key: SigningKey = SigningKey(raw)
        self.public = encode(kind, bytes(self._key.verify_key))

    def sign(self, data: bytes) -> bytes:
        return self._key.sign(data).signature


def _to_text(raw: bytes) -> str:
    check = binascii.crc_hqx(raw, 0).to_bytes(2, "little")
    return base64.b32encode(raw + check).decode().rstrip("=")


def _from_text(text: str, size: int) -> bytes:
    """The bytes before the check sum. Text and bytes belong to each other one to one."""
    if len(text) != size:
        raise ValueError(f"a key has {size} characters")
    try:
        raw = base64.b32decode(text + "=" * (-size % 8))
    except (binascii.Error, ValueError):
        raise ValueError("not base32") from None
    if binascii.crc_hqx(raw[:-2], 0) != int.from_bytes(raw[-2:], "little"):
        raise ValueError("wrong check sum")
    if _to_text(raw[:-2]) != text:
        raise ValueError("not base32")
    return raw[:-2]
