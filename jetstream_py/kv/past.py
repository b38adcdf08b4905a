"""A bucket as it was.

Theory of operation. The state of a key as of revision R is its newest entry at or before R. It is known for
sure if nothing is missing that could have been that entry. What a bucket removes, and what is left to see of
it:

* The history limit removes the oldest entries of a key. Such a key has as many entries as the limit, so of it
  nothing is known before the oldest that is left.
* A purge, and a marker of a limit, remove all before them; `purge_deletes` leaves a marker, too, or nothing
  at all. A key whose oldest entry is a deletion is therefore unknown before it.
* A TTL removes single values, the bucket's TTL those at the front, and both may take a key as a whole. There
  is nothing left to see but a sequence without a message.

So: if no sequence up to R is missing, everything is known. Otherwise a bucket whose values expire knows of
the past only what it can show: a key with an entry at or before R. Without expiry the horizon is the oldest
entry of the keys that were cut, or the last missing sequence that none of them explains. A key of which
nothing is left at all counts as deleted by then; who purges live keys through the stream's API makes history
lie.

Everything is read in order; if removals came between, it is read again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar

from jetstream_py import limits
from jetstream_py.js.errors import InvalidName, MessageNotFound
from jetstream_py.js.interface import JetStream
from jetstream_py.js.reader import Start
from jetstream_py.js.times import to_ns
from jetstream_py.js.types import Message, StreamInfo
from jetstream_py.kv.entry import Entry, entry_of
from jetstream_py.kv.errors import BeforeHorizon

EXPIRED: Final = "values of this bucket may have expired"
T = TypeVar("T")


@dataclass(frozen=True)
class Snapshot:
    """The entries that had a value as of a revision."""

    revision: int
    entries: dict[str, Entry]
    horizon: int | None  # the first revision that is known for sure; None: none of the past
    reason: str  # what removed what is not known

    @property
    def complete(self) -> bool:
        return self.horizon is not None and self.revision >= self.horizon


@dataclass
class _Key:
    """What is left of a key."""

    oldest: int
    deletion: bool  # is its oldest entry one?
    count: int = 0


@dataclass
class _Found:
    """What a walk through a bucket has seen."""

    revision: int
    keys: dict[str, _Key] = field(default_factory=dict)
    state: dict[str, Entry] = field(default_factory=dict)
    gaps: list[tuple[int, int]] = field(default_factory=list)  # missing sequences, both included
    looked_at: int = 0

    def see(self, message: Message, entry: Entry) -> None:
        if message.seq > self.looked_at + 1:
            self.gaps.append((self.looked_at + 1, message.seq - 1))
        self.looked_at = message.seq
        key = self.keys.get(entry.key)
        if key is None:
            key = self.keys[entry.key] = _Key(message.seq, entry.deleted)
        key.count += 1
        if message.seq <= self.revision:
            self.state[entry.key] = entry


class Past:
    """One bucket's."""

    def __init__(self, js: JetStream, stream: str, bucket: str, prefix: str) -> None:
        self._js = js
        self._stream = stream
        self._bucket = bucket
        self._prefix = prefix

    async def of_bucket(
        self, revision: int | None, time: datetime | None, partial: bool
    ) -> Snapshot:
        async def look(info: StreamInfo, upto: int) -> Snapshot:
            found = await self._walk(upto, values=True)
            horizon, reason = _horizon(info, found)
            alive = {key: entry for key, entry in found.state.items() if not entry.deleted}
            return Snapshot(upto, alive, horizon, reason)

        snapshot = await self._undisturbed(await self._revision(revision, time), look)
        if not snapshot.complete and not partial:
            raise BeforeHorizon(snapshot.revision, snapshot.horizon, snapshot.reason)
        return snapshot

    async def of_key(self, key: str, revision: int | None, time: datetime | None) -> Entry | None:
        async def look(info: StreamInfo, upto: int) -> Entry | None:
            kept = [entry async for entry in self._read([self._prefix + key])]
            newest = next((entry for entry in reversed(kept) if entry.revision <= upto), None)
            if newest is None:  # there never was one, or it is gone
                horizon, reason = _horizon(info, await self._walk(upto, values=False))
                if horizon is None or upto < horizon:
                    raise BeforeHorizon(upto, horizon, reason)
            elif info.config.get("allow_msg_ttl") and await self._missing(newest.revision, upto):
                raise BeforeHorizon(upto, None, EXPIRED)
            return newest  # what else removes entries begins with the oldest

        return await self._undisturbed(await self._revision(revision, time), look)

    async def _undisturbed(self, asked: int, look: Callable[[StreamInfo, int], Awaitable[T]]) -> T:
        """What a look finds while nothing is removed."""
        for _ in range(limits.PAST_TRIES):
            before = await self._js.stream_info(self._stream)
            found = await look(before, min(asked, before.state.last_seq))
            after = await self._js.stream_info(self._stream)
            if before.state.removed == after.state.removed:
                return found
        raise BeforeHorizon(asked, None, "the bucket is cut faster than it can be read")

    async def _walk(self, revision: int, values: bool) -> _Found:
        """All that is left; values, if they are wanted, up to the revision."""
        found = _Found(revision)
        everything = [self._prefix + ">"]
        start = Start()
        if values:
            async with self._js.read(self._stream, everything) as reader:
                async for message in reader.existing():
                    if message.seq > revision:
                        break
                    found.see(message, entry_of(self._bucket, self._prefix, message))
            start = Start.at_seq(revision + 1)
        async with self._js.read(self._stream, everything, start, headers_only=True) as reader:
            async for message in reader.existing():
                found.see(message, entry_of(self._bucket, self._prefix, message))
        return found

    async def _read(self, filters: list[str]) -> AsyncIterator[Entry]:
        async with self._js.read(self._stream, filters) as reader:
            async for message in reader.existing():
                yield entry_of(self._bucket, self._prefix, message)

    async def _missing(self, behind: int, last: int) -> bool:
        """Is there a sequence without a message behind the one, up to the other?"""
        seq = behind
        start = Start.at_seq(behind + 1)
        async with self._js.read(self._stream, start=start, headers_only=True) as reader:
            async for message in reader.existing():
                if message.seq > last or message.seq > seq + 1:
                    break
                seq = message.seq
        return seq < last

    async def _revision(self, revision: int | None, time: datetime | None) -> int:
        """The point that is asked for, as a revision."""
        if (revision is None) == (time is None):
            raise InvalidName("either a revision or a time")
        if time is not None:
            try:
                return (await self._js.at_time(self._stream, to_ns(time) + 1000)).seq - 1
            except MessageNotFound:
                return (await self._js.stream_info(self._stream)).state.last_seq
        assert revision is not None
        if revision < 0:
            raise InvalidName(f"not a revision: {revision}")
        return revision


def _expires(info: StreamInfo) -> str:
    """What takes values away without a trace, or nothing."""
    if info.config.get("allow_msg_ttl"):
        return EXPIRED
    if info.config.get("max_age") and info.state.first_seq > 1:
        return "the bucket's TTL has removed values"
    return ""


def _horizon(info: StreamInfo, found: _Found) -> tuple[int | None, str]:
    """The first revision that is known for sure, and what cut off those before."""
    gaps = list(found.gaps)
    if found.looked_at < info.state.last_seq:
        gaps.append((found.looked_at + 1, info.state.last_seq))
    if not any(first <= found.revision for first, _ in gaps):
        return 0, ""
    if reason := _expires(info):
        return None, reason
    limit = int(info.config.get("max_msgs_per_subject", -1))
    cut = [key.oldest for key in found.keys.values() if key.deletion or 0 < limit <= key.count]
    known = max(cut, default=0)
    unexplained = max((end for _, end in gaps), default=0)
    if unexplained > known:
        return unexplained, "messages were removed whose key has vanished"
    return known, "the history limit or a purge has removed older values"
