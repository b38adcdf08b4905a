"""An object store: objects of any size by name, with what is known of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, BinaryIO

from msgspec.structs import replace

from jetstream_py import limits
from jetstream_py.js.errors import ApiError, JetStreamError, MessageNotFound
from jetstream_py.js.interface import JetStream
from jetstream_py.js.times import SECOND
from jetstream_py.js.types import StreamInfo
from jetstream_py.js.watch import Watcher
from jetstream_py.objstore import download
from jetstream_py.objstore.config import STREAM, StoreStatus, chunks_of, stream_of
from jetstream_py.objstore.errors import (
    InvalidObject,
    LinkError,
    ObjectExists,
    ObjectStoreError,
    StoreSealed,
    UploadFailed,
)
from jetstream_py.objstore.info import Link, ObjectInfo, Options, digest_text
from jetstream_py.objstore.metas import SEALED, Metas
from jetstream_py.objstore.upload import Source, Upload

Values = Mapping[str, str | Sequence[str]]


class ObjectStore:
    """One store. `open_store` and `create_store` make these."""

    def __init__(self, js: JetStream, info: StreamInfo) -> None:
        self.js = js
        self.bucket = info.name.removeprefix(STREAM)
        self._stream = info.name
        self._direct = bool(info.config.get("allow_direct"))
        self._metas = Metas(js, info.name, self.bucket, self._direct)

    # -- objects -----------------------------------------------------------------------------------

    async def put(
        self,
        name: str,
        source: Source,
        *,
        description: str = "",
        headers: Values = {},  # noqa: B006 (never changed)
        metadata: Mapping[str, str] = {},
        chunk_size: int = limits.OBJECT_CHUNK,
    ) -> ObjectInfo:
        """Store bytes, a binary file, or an iterable of bytes under a name, in place of what is there.

        Returns when all of it is on disk. Until then readers see the old object. Raises UploadFailed, or what
        the source raised; then nothing new is left.
        """
        subject = await self._metas.subject(name)
        if not 0 < chunk_size <= self.js.max_payload:
            raise InvalidObject(f"a chunk has 1 to {self.js.max_payload} bytes, not {chunk_size}")
        known = ObjectInfo(
            name=name,
            bucket=self.bucket,
            nuid=self.js.new_id(),
            description=description,
            headers={key: _list(value) for key, value in headers.items()},
            metadata=dict(metadata),
            options=Options(chunk_size),
        )
        upload = Upload(self.js, chunks_of(self.bucket, known.nuid))
        try:
            digest = digest_text(await upload.send(source, chunk_size))
            whole = replace(known, size=upload.size, chunks=upload.chunks, digest=digest)
            info, old = await self._metas.take(subject, whole)
        except BaseException as error:
            left = await self._undo(known.nuid, upload.chunks)
            if isinstance(error, JetStreamError):
                raise self._failure(name, error, left) from error
            raise
        if old is not None and old.nuid:
            await self.js.purge(self._stream, chunks_of(self.bucket, old.nuid))
        return info

    async def _undo(self, nuid: str, sent: int) -> bool:
        """Remove the chunks of an upload that failed. Is anything left?"""
        if not sent:
            return False
        purge = self.js.purge(self._stream, chunks_of(self.bucket, nuid))
        try:
            await asyncio.shield(asyncio.ensure_future(purge))
        except JetStreamError:
            return True
        return False

    def _failure(self, name: str, error: JetStreamError, left: bool) -> ObjectStoreError:
        sealed = isinstance(error, ApiError) and error.err_code == SEALED
        if sealed or isinstance(error, StoreSealed):
            return StoreSealed(f"{self.bucket} is sealed")
        if isinstance(error, InvalidObject):
            return error
        return UploadFailed(f"{name} was not stored: {error}", left)

    async def get(
        self, name: str, *, start: int = 0, end: int | None = None
    ) -> AsyncIterator[bytes]:
        """The bytes of an object in chunks, or those from `start` up to `end`.

        Links are followed. Raises ObjectNotFound and LinkError at once, and ObjectDamaged before the end: who
        was given the last chunk has the object as it was stored.
        """
        store, info = await self.resolve(name)
        return store.read(info, start, end)

    def read(
        self, info: ObjectInfo, start: int = 0, end: int | None = None
    ) -> AsyncIterator[bytes]:
        """The bytes of exactly the object that was read about; it is damaged if another took its place."""
        stop = info.size if end is None else min(end, info.size)
        if start < 0 or (end is not None and end < start):
            raise InvalidObject(f"not a range: {start} to {end}")
        subject = chunks_of(self.bucket, info.nuid)
        if start == 0 and stop == info.size:
            if info.size or info.chunks:
                return download.whole(self.js, self._stream, subject, info)
        elif start < stop:
            return download.part(self.js, self._stream, subject, info, start, stop)
        return _nothing()

    async def get_bytes(self, name: str, *, start: int = 0, end: int | None = None) -> bytes:
        """A whole object, or a part of it, in memory."""
        return b"".join([chunk async for chunk in await self.get(name, start=start, end=end)])

    async def get_into(self, name: str, file: BinaryIO) -> ObjectInfo:
        """Write an object to a binary file. After an error the file's contents must not be used."""
        async for chunk in await self.get(name):
            await asyncio.to_thread(file.write, chunk)
        return await self.info(name)

    async def info(self, name: str, *, show_deleted: bool = False) -> ObjectInfo:
        """What is known of an object, or of a link. Raises ObjectNotFound."""
        return await self._metas.info(name, show_deleted)

    async def update_meta(
        self,
        name: str,
        *,
        new_name: str | None = None,
        description: str | None = None,
        headers: Values | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> ObjectInfo:
        """Change what is said of an object, its name among that. Raises ObjectNotFound, ObjectExists."""
        info = await self.info(name)
        changed: dict[str, Any] = {"name": name if new_name is None else new_name}
        if description is not None:
            changed["description"] = description
        if headers is not None:
            changed["headers"] = {key: _list(value) for key, value in headers.items()}
        if metadata is not None:
            changed["metadata"] = dict(metadata)
        after = replace(info, **changed)
        if after.name == name:
            return await self._metas.change(info, after)
        subject = await self._metas.subject(after.name)
        taken = await self._metas.known(subject)
        if taken is not None and not taken.deleted:
            raise ObjectExists(after.name)
        after = await self._metas.publish(subject, after, taken.revision if taken else 0)
        await self._metas.forget(await self._metas.subject(name))
        return after

    async def delete(self, name: str) -> None:
        """Remove an object; that there was one is still told. Raises ObjectNotFound."""
        info = await self.info(name)
        gone = replace(info, deleted=True, size=0, chunks=0, digest="")
        await self._metas.change(info, gone)
        if info.nuid:
            await self.js.purge(self._stream, chunks_of(self.bucket, info.nuid))

    # -- links -------------------------------------------------------------------------------------

    async def link(self, name: str, target: ObjectInfo) -> ObjectInfo:
        """A name for an object, of this store or another. Raises LinkError for links and deleted objects."""
        if target.deleted:
            raise LinkError(f"{target.name} is deleted")
        if target.link is not None:
            raise LinkError(f"{target.name} is a link itself")
        return await self._put_link(name, Link(target.bucket, target.name))

    async def link_store(self, name: str, bucket: str) -> ObjectInfo:
        """A name for a whole store. It has no bytes."""
        stream_of(bucket)
        return await self._put_link(name, Link(bucket))

    async def _put_link(self, name: str, link: Link) -> ObjectInfo:
        subject = await self._metas.subject(name)
        old = await self._metas.known(subject)
        if old is not None and not old.deleted and old.link is None:
            raise ObjectExists(name)
        info = ObjectInfo(
            name=name, bucket=self.bucket, nuid=self.js.new_id(), options=Options(link=link)
        )
        return await self._metas.publish(subject, info, old.revision if old else 0)

    async def resolve(self, name: str) -> tuple[ObjectStore, ObjectInfo]:
        """The object behind a name, which may be a link, and the store that has it."""
        info = await self.info(name)
        if info.link is None:
            return self, info
        if not info.link.name:
            raise LinkError(f"{name} leads to the store {info.link.bucket}")
        store = self
        if info.link.bucket != self.bucket:
            try:
                store = ObjectStore(self.js, await self.js.stream_info(stream_of(info.link.bucket)))
            except ApiError as error:
                raise LinkError(f"{name} leads to the store {info.link.bucket}: {error}") from error
        target = await store.info(info.link.name)
        if target.link is not None:
            raise LinkError(f"{name} leads to another link")
        return store, target

    # -- the store ---------------------------------------------------------------------------------

    async def list(self, *, show_deleted: bool = False) -> list[ObjectInfo]:
        """What is known of all objects and links."""
        found = await self._metas.list()
        return [info for info in found.values() if show_deleted or not info.deleted]

    def watch(
        self,
        *,
        ignore_deletes: bool = False,
        include_history: bool = False,
        updates_only: bool = False,
    ) -> Watcher[ObjectInfo]:
        """What is known of objects as it is, then None, then as it changes."""
        return self._metas.watch(ignore_deletes, include_history, updates_only)

    async def status(self) -> StoreStatus:
        return StoreStatus(await self.js.stream_info(self._stream))

    async def seal(self) -> StoreStatus:
        """Nothing can be written, changed or deleted any more, ever."""
        info = await self.js.stream_info(self._stream)
        return StoreStatus(await self.js.update_stream({**info.config, "sealed": True}))

    async def sweep(self, *, older_than: float = limits.OBJECT_ABANDONED) -> int:
        """Remove chunks that belong to no object: of uploads that a crash cut off, of replaced objects.

        An upload that is under way looks the same, so only chunks go whose last one is older than so many
        seconds. Returns how many were removed.
        """
        left = set(await self.js.subjects(self._stream, chunks_of(self.bucket, ">")))
        for (
            info
        ) in await self.list():  # read behind the chunks: who has finished meanwhile is in it
            left.discard(chunks_of(self.bucket, info.nuid))
        removed = 0
        for subject in left:
            try:
                last = await self.js.last(self._stream, subject, direct=self._direct)
            except MessageNotFound:
                continue
            if self.js.now_ns() - last.time_ns >= older_than * SECOND:
                removed += await self.js.purge(self._stream, subject)
        return removed


def _list(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


async def _nothing() -> AsyncIterator[bytes]:
    for _ in range(0):
        yield b""
