"""What a bucket refuses."""

from __future__ import annotations

from jetstream_py.js.errors import InvalidName, JetStreamError


class KeyValueError(JetStreamError):
    """The root of what buckets say."""


class InvalidKey(KeyValueError, InvalidName):
    """No key, or no filter, can look like that."""


class InvalidBucket(KeyValueError, InvalidName):
    """No bucket can be called, or be configured, like that."""


class BucketNotFound(KeyValueError):
    """There is no such bucket."""


class BucketExists(KeyValueError):
    """There is one with other options."""


class KeyNotFound(KeyValueError, KeyError):
    """The key has no value."""

    def __str__(self) -> str:
        return f"no value: {self.args[0]}" if self.args else "no value"


class KeyDeleted(KeyNotFound):
    """The key has no value because it was deleted, purged or has expired; `revision` says when."""

    def __init__(self, key: str, revision: int, operation: str) -> None:
        super().__init__(key)
        self.revision = revision
        self.operation = operation


class KeyExists(KeyValueError):
    """`create` found a value."""


class WrongRevision(KeyValueError):
    """The key has changed since the revision that was given."""


class TooManyConflicts(KeyValueError):
    """`update_with` lost against other writers as often as it may."""


class BeforeHorizon(KeyValueError):
    """Limits have removed what would be needed to know the past for sure.

    `horizon` is the first revision from which on it is known; None if no point of the past is."""

    def __init__(self, asked: int, horizon: int | None, reason: str) -> None:
        known = "no past revision" if horizon is None else f"revision {horizon} and later"
        super().__init__(f"the state as of revision {asked} is not known: {reason}; known: {known}")
        self.asked = asked
        self.horizon = horizon
        self.reason = reason
