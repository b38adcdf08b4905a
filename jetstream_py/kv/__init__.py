"""Key-value buckets, the same as those of nats.py, nats.js and nats.go."""

from jetstream_py.kv.admin import (
    create_bucket,
    delete_bucket,
    list_buckets,
    open_bucket,
    update_bucket,
)
from jetstream_py.kv.bucket import KeyValue
from jetstream_py.kv.config import Bucket, BucketStatus, Origin, Republish
from jetstream_py.kv.entry import DEL, PURGE, PUT, Entry
from jetstream_py.kv.errors import (
    BeforeHorizon,
    BucketExists,
    BucketNotFound,
    InvalidBucket,
    InvalidKey,
    KeyDeleted,
    KeyExists,
    KeyNotFound,
    KeyValueError,
    TooManyConflicts,
    WrongRevision,
)
from jetstream_py.kv.past import Snapshot

__all__ = [
    "DEL",
    "PURGE",
    "PUT",
    "BeforeHorizon",
    "Bucket",
    "BucketExists",
    "BucketNotFound",
    "BucketStatus",
    "Entry",
    "InvalidBucket",
    "InvalidKey",
    "KeyDeleted",
    "KeyExists",
    "KeyNotFound",
    "KeyValue",
    "KeyValueError",
    "Origin",
    "Republish",
    "Snapshot",
    "TooManyConflicts",
    "WrongRevision",
    "create_bucket",
    "delete_bucket",
    "list_buckets",
    "open_bucket",
    "update_bucket",
]
