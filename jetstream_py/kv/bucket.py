"""A key-value bucket: the operations on its keys.

Nothing here is kept between calls but the names of subjects, so any number of clients of any kind may use
the same bucket.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Final

from jetstream_py import headers as hdr
from jetstream_py import limits
from jetstream_py.js.errors import InvalidName, MessageNotFound, WrongLastSequence
from jetstream_py.js.interface import JetStream
from jetstream_py.js.reader import Start
from jetstream_py.js.times import SECOND
from jetstream_py.js.types import NO_HEADERS, Headers, Message, StreamInfo
from jetstream_py.js.watch import Watcher
from jetstream_py.js.wire import API_PREFIX
from jetstream_py.kv.config import BucketStatus
from jetstream_py.kv.entry import DEL, KV_OPERATION, PURGE, PUT, Entry, entry_of, operation_of
from jetstream_py.kv.errors import (
    KeyDeleted,
    KeyExists,
    KeyNotFound,
    TooManyConflicts,
    WrongRevision,
)
from jetstream_py.kv.names import STREAM, check_filter, check_key, subjects_of
from jetstream_py.kv.past import Past, Snapshot

ROLLUP: Final = hdr.ROLLUP.decode()
DELETED: Final = {KV_OPERATION: DEL}
PURGED: Final = {KV_OPERATION: PURGE, ROLLUP: "sub"}
OLD: Final = 1800.0  # seconds after which a marker has told everybody what it has to tell

Change = Callable[[Entry | None], "bytes | Awaitable[bytes | None] | None"]


class KeyValue:
    """One bucket. `open_bucket` and `create_bucket` make these."""

    def __init__(self, js: JetStream, info: StreamInfo) -> None:
        self.js = js
        self.bucket = info.name.removeprefix(STREAM)
        self._stream = info.name
        self._direct = bool(info.config.get("allow_direct"))
        self._prefix = subjects_of(self.bucket)  # of what is read ...
        self._writes = self._prefix  # ... and of what is written
        origin = info.config.get("mirror")
        if origin:
            external = (origin.get("external") or {}).get("api", "")
            self._prefix = subjects_of(origin["name"].removeprefix(STREAM))
            self._writes = f"{external}.{self._prefix}" if external else self._prefix
        elif js.prefix != API_PREFIX:
            self._writes = f"{js.prefix}.{self._prefix}"

    # -- writing -----------------------------------------------------------------------------------

    async def put(self, key: str, value: bytes, *, ttl: float | None = None) -> int:
        """Set a value, whatever there is. Returns its revision, and when it does, it is on disk.

        A `ttl` in seconds needs a bucket with `key_ttl` or `limit_marker_ttl`.
        """
        ack = await self.js.publish(self._writes + check_key(key), value, ttl=ttl)
        return ack.seq

    async def create(self, key: str, value: bytes, *, ttl: float | None = None) -> int:
        """Set a value if there is none; deleted keys have none. Raises KeyExists."""
        revision = 0
        for _ in range(limits.UPDATE_TRIES):
            try:
                return await self._write(key, value, revision, ttl=ttl)
            except WrongRevision:
                found = await self._last(key)
                if found is not None and not found.deleted:
                    raise KeyExists(f"{key} has revision {found.revision}") from None
                revision = found.revision if found is not None else 0
        raise TooManyConflicts(f"{key} comes and goes")

    async def update(
        self, key: str, value: bytes, revision: int, *, ttl: float | None = None
    ) -> int:
        """Set a value if the key is still at `revision` (0: has never been set). Raises WrongRevision."""
        return await self._write(key, value, revision, ttl=ttl)

    async def update_with(
        self, key: str, change: Change, *, tries: int = limits.UPDATE_TRIES
    ) -> Entry | None:
        """Compare and set until it holds: `change` gets the entry (None: no value) and returns the new value,
        or None to leave it. Returns what the key has then. Raises TooManyConflicts.
        """
        for _ in range(tries):
            found = await self._last(key)
            held = found if found is not None and not found.deleted else None
            value = change(held)
            if inspect.isawaitable(value):
                value = await value
            if value is None:
                return held
            try:
                revision = await self._write(key, value, found.revision if found else 0)
            except WrongRevision:
                continue
            return Entry(self.bucket, key, value, revision, self.js.now_ns(), PUT)
        raise TooManyConflicts(f"{key}: {tries} times somebody else was faster")

    async def delete(self, key: str, *, revision: int | None = None) -> None:
        """Leave a marker in place of a value; history stays. Raises WrongRevision if one is given."""
        await self._write(key, b"", revision, DELETED)

    async def purge(
        self, key: str, *, revision: int | None = None, ttl: float | None = None
    ) -> None:
        """Leave a marker and remove the history. With a `ttl` the marker goes by itself."""
        await self._write(key, b"", revision, PURGED, ttl)

    async def _write(
        self,
        key: str,
        value: bytes,
        revision: int | None,
        headers: Headers = NO_HEADERS,
        ttl: float | None = None,
    ) -> int:
        if revision is not None and revision < 0:
            raise InvalidName(f"not a revision: {revision}")
        try:
            ack = await self.js.publish(
                self._writes + check_key(key),
                value,
                headers=headers,
                expected_last_subject_seq=revision,
                ttl=ttl,
            )
        except WrongLastSequence as error:
            raise WrongRevision(f"{key}: {error.description}") from error
        return ack.seq

    # -- reading -----------------------------------------------------------------------------------

    async def get(self, key: str, *, revision: int | None = None) -> Entry:
        """The value, or the one of a revision. Raises KeyNotFound; KeyDeleted says that there was one."""
        if revision is None:
            entry = await self._last(key)
        else:
            entry = await self._at(key, revision)
        if entry is None:
            raise KeyNotFound(key)
        if entry.deleted:
            raise KeyDeleted(key, entry.revision, entry.operation)
        return entry

    async def get_many(self, keys: Iterable[str]) -> dict[str, Entry]:
        """The values of many keys by few requests; keys without one are left out."""
        names = [check_key(key) for key in keys]
        found: list[Entry | None] = []
        if not self._direct:
            found = [await self._last(key) for key in names]
        else:
            for at in range(0, len(names), limits.GET_MANY):
                subjects = [self._prefix + key for key in names[at : at + limits.GET_MANY]]
                found += map(self._entry, await self.js.last_for(self._stream, subjects))
        return {entry.key: entry for entry in found if entry is not None and not entry.deleted}

    async def keys(self, *filters: str) -> list[str]:
        """The keys that have a value: all, or those that match one of the filters."""
        found: dict[str, bool] = {}
        start = Start.last_per_subject()
        async with self.js.read(
            self._stream, self._subjects(filters), start, headers_only=True
        ) as reader:
            async for message in reader.existing():
                key = message.subject[len(self._prefix) :]
                found[key] = operation_of(message.headers) == "PUT"
        return [key for key, alive in found.items() if alive]

    async def history(self, key: str) -> list[Entry]:
        """All revisions of a key that are kept, deletions among them, oldest first."""
        async with self.js.read(self._stream, [self._prefix + check_key(key)]) as reader:
            return [self._entry(message) async for message in reader.existing()]

    def watch(
        self,
        *filters: str,
        include_history: bool = False,
        ignore_deletes: bool = False,
        updates_only: bool = False,
        meta_only: bool = False,
        resume_from: int | None = None,
    ) -> Watcher[Entry]:
        """Entries as they are and as they change, of all keys or of those that match a filter.

        First the newest entry of each key (`include_history`: all; `resume_from`: all from a revision on;
        `updates_only`: none), then None, then what comes. `meta_only` leaves the values out.
        """
        if include_history + updates_only + (resume_from is not None) > 1:
            raise InvalidName("include_history, updates_only and resume_from exclude each other")
        start = Start.last_per_subject()
        if include_history:
            start = Start()
        elif updates_only:
            start = Start.new()
        elif resume_from is not None:
            start = Start.at_seq(resume_from)
        reader = self.js.read(self._stream, self._subjects(filters), start, headers_only=meta_only)

        def meaning(message: Message) -> Entry | None:
            entry = self._entry(message)
            return None if ignore_deletes and entry.deleted else entry

        return Watcher(reader, meaning, updates_only)

    # -- the past ----------------------------------------------------------------------------------

    async def get_as_of(
        self, key: str, *, revision: int | None = None, time: datetime | None = None
    ) -> Entry:
        """What `get` would have said then. Raises KeyNotFound, KeyDeleted, or BeforeHorizon: it cannot be
        known."""
        entry = await self._past().of_key(check_key(key), revision, time)
        if entry is None:
            raise KeyNotFound(key)
        if entry.deleted:
            raise KeyDeleted(key, entry.revision, entry.operation)
        return entry

    async def as_of(
        self, *, revision: int | None = None, time: datetime | None = None, partial: bool = False
    ) -> Snapshot:
        """The whole bucket as it was. Raises BeforeHorizon if limits removed what would be needed, unless
        `partial`: then it is what is left, and the snapshot says why that may not be all."""
        return await self._past().of_bucket(revision, time, partial)

    def _past(self) -> Past:
        return Past(self.js, self._stream, self.bucket, self._prefix)

    # -- the bucket --------------------------------------------------------------------------------

    async def status(self) -> BucketStatus:
        return BucketStatus(await self.js.stream_info(self._stream))

    async def purge_deletes(self, *, older_than: float = OLD) -> int:
        """Remove the history of deleted keys, and their markers if they are older than so many seconds.

        A key that comes back meanwhile is safe: only what lies before its marker goes. Returns how many
        messages were removed.
        """
        markers: list[Entry] = []
        start = Start.last_per_subject()
        async with self.js.read(
            self._stream, [self._prefix + ">"], start, headers_only=True
        ) as reader:
            async for message in reader.existing():
                entry = self._entry(message)
                if entry.deleted:
                    markers.append(entry)
        removed = 0
        for entry in markers:
            age = (self.js.now_ns() - entry.time_ns) / SECOND
            upto = entry.revision + (age >= older_than)
            removed += await self.js.purge(self._stream, self._prefix + entry.key, seq=upto)
        return removed

    async def _last(self, key: str) -> Entry | None:
        try:
            message = await self.js.last(
                self._stream, self._prefix + check_key(key), direct=self._direct
            )
        except MessageNotFound:
            return None
        return self._entry(message)

    async def _at(self, key: str, revision: int) -> Entry | None:
        if revision < 1:
            raise InvalidName(f"not a revision: {revision}")
        try:
            message = await self.js.get(self._stream, revision, direct=self._direct)
        except MessageNotFound:
            return None
        return self._entry(message) if message.subject == self._prefix + check_key(key) else None

    def _entry(self, message: Message) -> Entry:
        return entry_of(self.bucket, self._prefix, message)

    def _subjects(self, filters: Iterable[str]) -> list[str]:
        return [self._prefix + check_filter(each) for each in filters] or [self._prefix + ">"]
