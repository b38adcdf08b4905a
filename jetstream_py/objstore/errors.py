"""What an object store refuses."""

from __future__ import annotations

from jetstream_py.js.errors import InvalidName, JetStreamError


class ObjectStoreError(JetStreamError):
    """The root of what object stores say."""


class InvalidObject(ObjectStoreError, InvalidName):
    """No object, link, range or store can be like that."""


class StoreNotFound(ObjectStoreError):
    """There is no such store."""


class StoreExists(ObjectStoreError):
    """There is one with other options."""


class ObjectNotFound(ObjectStoreError, KeyError):
    """There is no such object (any more)."""

    def __str__(self) -> str:
        return f"no object: {self.args[0]}" if self.args else "no object"


class ObjectExists(ObjectStoreError):
    """The new name of an object is taken."""


class ObjectDamaged(ObjectStoreError):
    """Chunks are missing, or are not what was stored. What was read of it must not be used."""


class UploadFailed(ObjectStoreError):
    """An object was not stored; nothing of it is left, unless `leftover`: then `sweep` will find it."""

    def __init__(self, text: str, leftover: bool = False) -> None:
        super().__init__(text)
        self.leftover = leftover


class LinkError(ObjectStoreError):
    """A link that leads to no object."""


class StoreSealed(ObjectStoreError):
    """Nothing can be written any more."""
