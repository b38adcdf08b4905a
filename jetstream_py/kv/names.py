"""Names of buckets, keys and filters, and the subjects that they become."""

from __future__ import annotations

import re
from typing import Final

from jetstream_py import limits
from jetstream_py.kv.errors import InvalidBucket, InvalidKey

STREAM: Final = "KV_"
SPACE: Final = "$KV."
_BUCKET: Final = re.compile(r"[a-zA-Z0-9_-]+")
_KEY: Final = re.compile(r"[-/_=a-zA-Z0-9]+(?:\.[-/_=a-zA-Z0-9]+)*")
_FILTER: Final = re.compile(r"(?:(?:\*|[-/_=a-zA-Z0-9]+)\.)*(?:\*|>|[-/_=a-zA-Z0-9]+)")


def check_bucket(name: str) -> str:
    if not _BUCKET.fullmatch(name) or len(name) > limits.KEY_LENGTH // 8:
        raise InvalidBucket(f"not a bucket's name: {name[:100]!r} (letters, digits, _ and -)")
    return name


def check_key(key: str) -> str:
    if len(key) > limits.KEY_LENGTH or not _KEY.fullmatch(key):
        raise InvalidKey(
            f"not a key: {key[:100]!r} (tokens of letters, digits and -/_= with dots between)"
        )
    return key


def check_filter(text: str) -> str:
    """A key, or one with `*` for tokens and `>` for the rest."""
    if len(text) > limits.KEY_LENGTH or not _FILTER.fullmatch(text):
        raise InvalidKey(f"not a filter of keys: {text[:100]!r}")
    return text


def stream_of(bucket: str) -> str:
    return STREAM + check_bucket(bucket)


def subjects_of(bucket: str) -> str:
    return f"{SPACE}{bucket}."
