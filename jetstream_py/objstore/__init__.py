"""Object stores, the same as those of nats.py, nats.js and nats.go."""

from jetstream_py.objstore.admin import create_store, delete_store, list_stores, open_store
from jetstream_py.objstore.config import Store, StoreStatus
from jetstream_py.objstore.errors import (
    InvalidObject,
    LinkError,
    ObjectDamaged,
    ObjectExists,
    ObjectNotFound,
    ObjectStoreError,
    StoreExists,
    StoreNotFound,
    StoreSealed,
    UploadFailed,
)
from jetstream_py.objstore.info import Link, ObjectInfo
from jetstream_py.objstore.store import ObjectStore

__all__ = [
    "InvalidObject",
    "Link",
    "LinkError",
    "ObjectDamaged",
    "ObjectExists",
    "ObjectInfo",
    "ObjectNotFound",
    "ObjectStore",
    "ObjectStoreError",
    "Store",
    "StoreExists",
    "StoreNotFound",
    "StoreSealed",
    "StoreStatus",
    "UploadFailed",
    "create_store",
    "delete_store",
    "list_stores",
    "open_store",
]
