"""What a store knows of its objects: one message for each, which replaces the one before.

Its subject ends with the name in base64. Names are UTF-8 there, but nats.js takes the Latin-1 of those that
have one: an object that is there under that spelling is found, and stays there. Every write says which
message it replaces, so of two writers one finds out and looks again.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from jetstream_py import headers as hdr
from jetstream_py import limits
from jetstream_py.gotext import rfc3339_nano
from jetstream_py.js.errors import ApiError, MessageNotFound, WrongLastSequence
from jetstream_py.js.interface import JetStream
from jetstream_py.js.reader import Start
from jetstream_py.js.types import Message
from jetstream_py.js.watch import Watcher
from jetstream_py.objstore.config import SPACE, latin_meta_of, meta_of
from jetstream_py.objstore.errors import (
    InvalidObject,
    ObjectNotFound,
    ObjectStoreError,
    StoreSealed,
    UploadFailed,
)
from jetstream_py.objstore.info import ObjectInfo, info_of

ROLLUP: Final = {hdr.ROLLUP.decode(): "sub"}
SEALED: Final = 10109


class Metas:
    """Those of one store."""

    def __init__(self, js: JetStream, stream: str, bucket: str, direct: bool) -> None:
        self._js = js
        self._stream = stream
        self._bucket = bucket
        self._direct = direct
        self._all = f"{SPACE}{bucket}.M.>"

    async def subject(self, name: str) -> str:
        """Where an object of this name is, or will be. Raises InvalidObject."""
        subject = meta_of(self._bucket, name)
        other = latin_meta_of(self._bucket, name)
        if other and await self.known(subject) is None and await self.known(other) is not None:
            return other
        return subject

    async def known(self, subject: str) -> ObjectInfo | None:
        try:
            return info_of(await self._js.last(self._stream, subject, direct=self._direct))
        except MessageNotFound:
            return None

    async def info(self, name: str, show_deleted: bool) -> ObjectInfo:
        found = await self.known(await self.subject(name))
        if found is None or (found.deleted and not show_deleted):
            raise ObjectNotFound(name)
        return found

    async def list(self) -> dict[str, ObjectInfo]:
        """All by name, deleted ones among them."""
        found: dict[str, ObjectInfo] = {}
        start = Start.last_per_subject()
        async with self._js.read(self._stream, [self._all], start) as reader:
            async for message in reader.existing():
                info = info_of(message)
                found[info.name] = info
        return found

    def watch(
        self, ignore_deletes: bool, include_history: bool, updates_only: bool
    ) -> Watcher[ObjectInfo]:
        if include_history and updates_only:
            raise InvalidObject("include_history and updates_only exclude each other")
        start = Start.last_per_subject()
        if include_history or updates_only:
            start = Start.new() if updates_only else Start()

        def meaning(message: Message) -> ObjectInfo | None:
            info = info_of(message)
            return None if ignore_deletes and info.deleted else info

        return Watcher(self._js.read(self._stream, [self._all], start), meaning, updates_only)

    # -- writing -----------------------------------------------------------------------------------

    async def take(self, subject: str, info: ObjectInfo) -> tuple[ObjectInfo, ObjectInfo | None]:
        """Make an object known, in place of what is there; returns that, too. Whoever comes at the same
        time is replaced, not passed over: somebody must remove the chunks of each."""
        for _ in range(limits.OBJECT_META_TRIES):
            old = await self.known(subject)
            try:
                return await self.publish(subject, info, old.revision if old else 0), old
            except WrongLastSequence:
                continue
        raise UploadFailed(f"{info.name}: too many writers at the same time")

    async def change(self, before: ObjectInfo, after: ObjectInfo) -> ObjectInfo:
        """Change what is known of the object that was read, not of another one that took its place."""
        try:
            return await self.publish(await self.subject(before.name), after, before.revision)
        except WrongLastSequence as error:
            raise ObjectStoreError(f"{before.name} has changed meanwhile") from error

    async def publish(self, subject: str, info: ObjectInfo, revision: int) -> ObjectInfo:
        """Raises WrongLastSequence if the message before has another revision."""
        now = self._js.now_ns()
        try:
            ack = await self._js.publish(
                subject,
                info.encode(rfc3339_nano(now)),
                headers=ROLLUP,
                expected_last_subject_seq=revision,
            )
        except ApiError as error:
            if error.err_code == SEALED:
                raise StoreSealed(f"{self._bucket} is sealed") from error
            raise
        return replace(info, revision=ack.seq, time_ns=now)

    async def forget(self, subject: str) -> None:
        await self._js.purge(self._stream, subject)
