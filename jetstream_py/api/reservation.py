"""The bytes that streams may grow to, held against what an account or the server may have."""

from __future__ import annotations

from jetstream_py.api.errors import ApiError, E, error
from jetstream_py.api.types import AccountLimits, StreamConfig


def most_bytes(limits: AccountLimits, storage: str) -> int:
    """-1 is no limit."""
    return limits.max_storage if storage == "file" else limits.max_memory


def check_reservation(config: StreamConfig, most: int, others: int) -> None:
    """A stream must fit beside what others may grow to; one that does not say how large it may get
    needs a byte."""
    wanted = config.max_bytes * max(1, config.num_replicas) if config.max_bytes >= 0 else 1
    if most >= 0 and others + wanted > most:
        raise exceeded(config.storage)


def exceeded(storage: str) -> ApiError:
    file = storage == "file"
    return error(E.STORAGE_RESOURCES_EXCEEDED if file else E.MEMORY_RESOURCES_EXCEEDED)
