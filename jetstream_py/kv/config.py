"""What a bucket is made of: options of its own, and the stream that they become.

The stream is the one that nats.go would make, so buckets of one client are buckets of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from jetstream_py import limits
from jetstream_py.js.times import SECOND
from jetstream_py.js.types import StreamInfo
from jetstream_py.kv.errors import InvalidBucket
from jetstream_py.kv.names import STREAM, check_bucket, check_filter, stream_of, subjects_of

DUPLICATES: Final = 120.0  # seconds, unless values live shorter


@dataclass(frozen=True)
class Origin:
    """A bucket that another one copies; in another domain, or behind an imported API, if one is named."""

    bucket: str
    domain: str = ""
    prefix: str = ""  # of the API there
    deliver: str = ""  # subject space for what comes from there, if the import has one
    filter: str = ">"  # of a source: which keys
    start_seq: int = 0

    def external(self) -> dict[str, Any]:
        api = self.prefix or (f"$JS.{self.domain}.API" if self.domain else "")
        if not api:
            return {}
        return {"external": {"api": api, **({"deliver": self.deliver} if self.deliver else {})}}

    def stream(self) -> dict[str, Any]:
        name = self.bucket.removeprefix(STREAM)
        start = {"opt_start_seq": self.start_seq} if self.start_seq else {}
        return {"name": stream_of(name), **start, **self.external()}


@dataclass(frozen=True)
class Republish:
    """Values are published again, under another name, when they are stored."""

    dest: str
    src: str = ""
    headers_only: bool = False

    def stream(self) -> dict[str, Any]:
        return {"src": self.src, "dest": self.dest, "headers_only": self.headers_only}


@dataclass(frozen=True)
class Bucket:
    """The options of a bucket. Times are seconds; 0 and -1 are no limit."""

    bucket: str
    description: str = ""
    history: int = 1  # values kept of each key
    ttl: float = 0.0  # of every value
    max_bytes: int = -1
    max_value_size: int = -1
    storage: Literal["file", "memory"] = "file"
    replicas: int = 1
    republish: Republish | None = None
    placement: dict[str, Any] | None = None
    mirror: Origin | None = None
    sources: Sequence[Origin] = ()
    compression: bool = False
    metadata: dict[str, str] = field(default_factory=dict)
    limit_marker_ttl: float = 0.0  # how long a marker tells that a limit removed a key
    key_ttl: bool = False  # values may have a TTL of their own; `limit_marker_ttl` implies it

    def stream(self) -> dict[str, Any]:
        """The configuration of its stream. Raises InvalidBucket."""
        self._check()
        config: dict[str, Any] = {
            "name": stream_of(self.bucket),
            "description": self.description,
            "max_msgs_per_subject": self.history,
            "max_bytes": self.max_bytes or -1,
            "max_age": round(self.ttl * SECOND),
            "max_msg_size": self.max_value_size or -1,
            "storage": self.storage,
            "num_replicas": self.replicas,
            "placement": self.placement,
            "republish": self.republish.stream() if self.republish else None,
            "discard": "new",
            "duplicate_window": round(min(self.ttl or DUPLICATES, DUPLICATES) * SECOND),
            "max_msgs": -1,
            "max_consumers": -1,
            "allow_rollup_hdrs": True,
            "deny_delete": True,
            "allow_direct": True,
            "compression": "s2" if self.compression else "none",
            "metadata": self.metadata or None,
            "allow_msg_ttl": self.key_ttl or self.limit_marker_ttl > 0 or None,
            "subject_delete_marker_ttl": round(self.limit_marker_ttl * SECOND) or None,
            **self._subjects(),
        }
        return {name: value for name, value in config.items() if value is not None}

    def _subjects(self) -> dict[str, Any]:
        if self.mirror is not None:
            return {"mirror": self.mirror.stream(), "mirror_direct": True}
        own = subjects_of(self.bucket)
        if not self.sources:
            return {"subjects": [own + ">"]}
        return {"subjects": [own + ">"], "sources": [_source(each, own) for each in self.sources]}

    def _check(self) -> None:
        check_bucket(self.bucket)
        if not 1 <= self.history <= limits.KEY_HISTORY:
            raise InvalidBucket(f"history is 1 to {limits.KEY_HISTORY}, not {self.history}")
        if self.ttl < 0 or 0 < self.limit_marker_ttl < 1 or self.limit_marker_ttl < 0:
            raise InvalidBucket("a ttl is not negative, a limit_marker_ttl at least a second")
        if self.max_bytes < -1 or self.max_value_size < -1:
            raise InvalidBucket("max_bytes and max_value_size are sizes, or -1 for no limit")
        if self.mirror is not None and self.sources:
            raise InvalidBucket("a bucket has a mirror or sources, not both")
        for each in self.sources:
            check_filter(each.filter)


def _source(origin: Origin, own: str) -> dict[str, Any]:
    """Keys of the other bucket become keys of this one."""
    theirs = subjects_of(origin.bucket.removeprefix(STREAM))
    rename = {"src": theirs + origin.filter, "dest": own + origin.filter}
    return {**origin.stream(), "subject_transforms": [rename]}


@dataclass(frozen=True)
class BucketStatus:
    """What a bucket tells of itself."""

    info: StreamInfo

    @property
    def bucket(self) -> str:
        return self.info.name.removeprefix(STREAM)

    @property
    def values(self) -> int:
        """Revisions that are kept, deletions among them."""
        return self.info.state.messages

    @property
    def bytes(self) -> int:
        return self.info.state.bytes

    @property
    def last_revision(self) -> int:
        return self.info.state.last_seq

    @property
    def history(self) -> int:
        return int(self.info.config.get("max_msgs_per_subject", -1))

    @property
    def ttl(self) -> float:
        return float(self.info.config.get("max_age", 0)) / SECOND

    @property
    def limit_marker_ttl(self) -> float:
        return float(self.info.config.get("subject_delete_marker_ttl", 0)) / SECOND

    @property
    def key_ttl(self) -> bool:
        return bool(self.info.config.get("allow_msg_ttl"))

    @property
    def max_bytes(self) -> int:
        return int(self.info.config.get("max_bytes", -1))

    @property
    def max_value_size(self) -> int:
        return int(self.info.config.get("max_msg_size", -1))

    @property
    def storage(self) -> str:
        return str(self.info.config.get("storage", "file"))

    @property
    def compression(self) -> bool:
        return str(self.info.config.get("compression", "none")) != "none"

    @property
    def description(self) -> str:
        return str(self.info.config.get("description", ""))

    @property
    def metadata(self) -> dict[str, str]:
        """Without what the server adds."""
        given: dict[str, str] = self.info.config.get("metadata") or {}
        return {name: value for name, value in given.items() if not name.startswith("_nats.")}

    @property
    def mirror(self) -> str:
        """The bucket that it copies, or nothing."""
        origin = self.info.config.get("mirror") or {}
        return str(origin.get("name", "")).removeprefix(STREAM)
