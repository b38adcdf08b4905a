"""What is known of an object: a JSON message of its own, in the form that all clients share."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from typing import Any, Final

import msgspec

from jetstream_py.js.times import to_datetime
from jetstream_py.js.types import Message
from jetstream_py.objstore.errors import ObjectDamaged

DIGEST: Final = "SHA-256="


class Link(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a link leads: to an object, or without a name to a whole store."""

    bucket: str
    name: str = ""


class Options(msgspec.Struct, frozen=True, omit_defaults=True):
    """How an object is kept."""

    max_chunk_size: int = 0
    link: Link | None = None


class ObjectInfo(msgspec.Struct, frozen=True, kw_only=True):
    """An object without its bytes."""

    name: str
    bucket: str
    nuid: str = ""
    size: int = 0
    chunks: int = 0
    digest: str = ""
    deleted: bool = False
    description: str = ""
    headers: dict[str, list[str]] = {}
    metadata: dict[str, str] = {}
    options: Options = Options()
    revision: int = 0  # of the message that told it ...
    time_ns: int = 0  # ... and when that was stored

    @property
    def modified(self) -> datetime:
        return to_datetime(self.time_ns)

    @property
    def link(self) -> Link | None:
        return self.options.link

    def encode(self, now: str) -> bytes:
        """The message. Readers take its time from the stream; `now` is for those who do not."""
        told: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "headers": self.headers,
            "metadata": self.metadata,
        }
        told = {name: value for name, value in told.items() if value}
        told |= {
            "options": self.options,
            "bucket": self.bucket,
            "nuid": self.nuid,
            "size": self.size,
            "mtime": now,
            "chunks": self.chunks,
            "digest": self.digest,
        }
        if self.deleted:
            told["deleted"] = True
        return msgspec.json.encode(told)

    def sha256(self) -> bytes:
        """The digest that its bytes must have."""
        kind, _, text = self.digest.partition("=")
        try:
            found = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            found = b""
        if kind.upper() != DIGEST[:-1] or len(found) != 32:
            raise ObjectDamaged(f"{self.name}: not a SHA-256 digest: {self.digest!r}")
        return found


class _Meta(msgspec.Struct):
    """As it is read: what clients leave out, or write as null, is missing."""

    name: str = ""
    bucket: str = ""
    nuid: str | None = None
    size: int | None = None
    chunks: int | None = None
    digest: str | None = None
    deleted: bool | None = None
    description: str | None = None
    headers: dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    options: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(_Meta).decode


def digest_text(sha256: bytes) -> str:
    return DIGEST + urlsafe_b64encode(sha256).decode()


def info_of(message: Message) -> ObjectInfo:
    """Raises ObjectDamaged if the message does not tell of an object."""
    try:
        meta = _decode(message.data)
        return ObjectInfo(
            name=meta.name,
            bucket=meta.bucket,
            nuid=meta.nuid or "",
            size=meta.size or 0,
            chunks=meta.chunks or 0,
            digest=meta.digest or "",
            deleted=bool(meta.deleted),
            description=meta.description or "",
            headers={name: _values(value) for name, value in (meta.headers or {}).items()},
            metadata=meta.metadata or {},
            options=_options(meta.options or {}),
            revision=message.seq,
            time_ns=message.time_ns,
        )
    except msgspec.DecodeError as error:
        raise ObjectDamaged(f"{message.subject} {message.seq}: {error}") from None


def _values(value: object) -> list[str]:
    """nats.py has one value where others have a list."""
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]


def _options(given: dict[str, Any]) -> Options:
    link = given.get("link") or None
    where = Link(str(link.get("bucket", "")), str(link.get("name") or "")) if link else None
    return Options(int(given.get("max_chunk_size") or 0), where)
