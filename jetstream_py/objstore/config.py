"""What an object store is made of: options of its own, and the stream that they become."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from jetstream_py import limits
from jetstream_py.js.times import SECOND
from jetstream_py.js.types import StreamInfo
from jetstream_py.objstore.errors import InvalidObject

STREAM: Final = "OBJ_"
SPACE: Final = "$O."
_BUCKET: Final = re.compile(r"[a-zA-Z0-9_-]+")


def stream_of(bucket: str) -> str:
    if not _BUCKET.fullmatch(bucket) or len(bucket) > limits.KEY_LENGTH // 8:
        raise InvalidObject(f"not a store's name: {bucket[:100]!r} (letters, digits, _ and -)")
    return STREAM + bucket


def chunks_of(bucket: str, nuid: str) -> str:
    """The subject of an object's chunks, or with `>` of all."""
    return f"{SPACE}{bucket}.C.{nuid}"


def meta_of(bucket: str, name: str) -> str:
    """The subject that knows of an object. Raises InvalidObject."""
    if not name or len(name) > limits.KEY_LENGTH // 2:
        raise InvalidObject(f"not an object's name: {name[:100]!r}")
    try:
        token = urlsafe_b64encode(name.encode()).decode()
    except UnicodeEncodeError:
        raise InvalidObject(f"not an object's name: {name[:100]!r}") from None
    if len(token) > limits.KEY_LENGTH:
        raise InvalidObject(f"an object's name is too long: {name[:100]!r}")
    return f"{SPACE}{bucket}.M.{token}"


def latin_meta_of(bucket: str, name: str) -> str:
    """The subject that nats.js has instead, or nothing if it has the same or none."""
    if name.isascii():
        return ""
    try:
        return f"{SPACE}{bucket}.M.{urlsafe_b64encode(name.encode('latin-1')).decode()}"
    except UnicodeEncodeError:
        return ""


@dataclass(frozen=True)
class Store:
    """The options of a store. Times are seconds; 0 and -1 are no limit."""

    bucket: str
    description: str = ""
    ttl: float = 0.0
    max_bytes: int = -1
    storage: Literal["file", "memory"] = "file"
    replicas: int = 1
    placement: dict[str, Any] | None = None
    compression: bool = False
    metadata: dict[str, str] = field(default_factory=dict)

    def stream(self) -> dict[str, Any]:
        """The configuration of its stream. Raises InvalidObject."""
        if self.ttl < 0 or self.max_bytes < -1:
            raise InvalidObject("ttl and max_bytes are not negative (-1: no limit)")
        config: dict[str, Any] = {
            "name": stream_of(self.bucket),
            "description": self.description,
            "subjects": [chunks_of(self.bucket, ">"), f"{SPACE}{self.bucket}.M.>"],
            "max_age": round(self.ttl * SECOND),
            "max_bytes": self.max_bytes or -1,
            "storage": self.storage,
            "num_replicas": self.replicas,
            "placement": self.placement,
            "discard": "new",
            "allow_rollup_hdrs": True,
            "allow_direct": True,
            "compression": "s2" if self.compression else "none",
            "metadata": self.metadata or None,
        }
        return {name: value for name, value in config.items() if value is not None}


@dataclass(frozen=True)
class StoreStatus:
    """What a store tells of itself."""

    info: StreamInfo

    @property
    def bucket(self) -> str:
        return self.info.name.removeprefix(STREAM)

    @property
    def bytes(self) -> int:
        """All of it: chunks, information, and what a message costs beside them."""
        return self.info.state.bytes

    @property
    def sealed(self) -> bool:
        return bool(self.info.config.get("sealed"))

    @property
    def description(self) -> str:
        return str(self.info.config.get("description", ""))

    @property
    def ttl(self) -> float:
        return float(self.info.config.get("max_age", 0)) / SECOND

    @property
    def max_bytes(self) -> int:
        return int(self.info.config.get("max_bytes", -1))

    @property
    def storage(self) -> str:
        return str(self.info.config.get("storage", "file"))

    @property
    def compression(self) -> bool:
        return str(self.info.config.get("compression", "none")) != "none"

    @property
    def metadata(self) -> dict[str, str]:
        """Without what the server adds."""
        given: dict[str, str] = self.info.config.get("metadata") or {}
        return {name: value for name, value in given.items() if not name.startswith("_nats.")}
