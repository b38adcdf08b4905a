"""What time removes from a stream: messages older than `max_age`, and messages that are past their TTL.

Each of the two has a timer on the clock that is set for the next message and sleeps when there is none.
Much that is due at once goes in slices, so others have their turn in between.

With delete markers (`subject_delete_marker_ttl`) the last message of a subject does not just go: a marker is
published in its place, and it is the marker's rollup that removes the message. So if the marker is refused
(the stream is full and keeps the old) the message stays, and the next try is two seconds later. A marker
leaves without another one.

Messages expire from the front with `max_age`, whole blocks at once. Not so when there may be markers to
write, or messages that never expire: then they are looked at one by one, from where the last look ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from jetstream_py import gotext, limits
from jetstream_py import headers as hdr
from jetstream_py.api.errors import ApiError
from jetstream_py.engine.ttl import FAR, NEVER, SECOND, Deadlines, deadline_of, ttl_of
from jetstream_py.timers import Timer

if TYPE_CHECKING:
    from jetstream_py.api.types import StreamConfig
    from jetstream_py.engine.stream import Stream
    from jetstream_py.store import Message

STEP = 0.25  # seconds: the least time between two looks at messages
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[int, int]).decode


def is_marker(headers: bytes) -> bool:
    """Does the message say itself that its subject is gone?"""
    if not headers:
        return False
    return bool(hdr.get(headers, hdr.MARKER_REASON)) or (
        hdr.get(headers, hdr.KV_OPERATION) == b"PURGE"
    )


def marker_headers(ttl: int) -> bytes:
    """Of the marker that lives for so many seconds."""
    return hdr.extend(
        b"",
        (hdr.MARKER_REASON, b"MaxAge"),
        (hdr.TTL, gotext.duration(ttl * SECOND).encode()),
        (hdr.ROLLUP, b"sub"),
    )


def prefix(sid: int) -> bytes:
    """Of the keys of a stream's deadlines."""
    return b"t%08x" % sid


class Lifetimes:
    """The deadlines of messages that are stored before their stream is open."""

    def __init__(self) -> None:
        self.table = Deadlines()
        self.never = False

    def add(self, seq: int, ts: int, headers: bytes, now: int) -> None:
        if ttl_of(headers) == NEVER:
            self.never = True
        deadline = deadline_of(ts, headers)
        if deadline < FAR:
            self.table.add(seq, deadline, now)


class Expiry:
    """The timers of one stream, and what they know."""

    def __init__(self, stream: Stream, config: StreamConfig) -> None:
        self._stream = stream
        self._shared = stream.shared
        self._store = stream.store
        self.age: Timer | None = None
        self._ttl: Timer | None = None
        self._ttl_due = 0  # what that timer is set for
        self._table = Deadlines()
        self._never = False  # some message may have a TTL of never
        self._looked = 0  # older messages are past `max_age` and stay
        self._prefix = prefix(stream.store.sid)
        self._kept = config.storage == "file"
        self._ready = not stream.store.messages  # nothing expires before consumers are there
        if config.allow_msg_ttl and self._kept:
            self._load()

    def configure(self, config: StreamConfig) -> None:
        """Limits may be others now; what is too old goes at once."""
        self._max_age = config.max_age
        self._least = config.subject_delete_marker_ttl // SECOND  # of a marker, in seconds
        self._marker = marker_headers(self._least) if self._least else b""
        self._raises = self._least > 0 and config.max_msgs_per_subject != 1
        self._looked = 0
        if self.age is not None:
            self.age.cancel()
        self._expire_old()

    def recover(self) -> None:
        """After a restart: remove all that is due before anybody can ask for it."""
        self._ready = True
        while self._drop_old():
            pass
        while self._drop_due():
            pass
        self._expire_old()
        self._arm_ttl()

    def adopt(self, lifetimes: Lifetimes) -> None:
        """Of a stream that was restored: `recover` is next."""
        self._table = lifetimes.table
        if lifetimes.never:
            self._never = True
            self._put(b"never", b"\1")
        self._save()

    def close(self, deleted: bool) -> None:
        for timer in (self.age, self._ttl):
            if timer is not None:
                timer.cancel()
        if deleted and self._kept:
            for key, _ in self._shared.store.meta_items(self._prefix):
                self._shared.store.put_meta(key, None)

    # -- publishes ---------------------------------------------------------------------------------

    def raises(self, ttl: int) -> bool:
        """Is it less than a message must have?"""
        return self._raises and 0 < ttl < self._least

    def raised(self, headers: bytes, ttl: int) -> tuple[bytes, int]:
        """No message goes sooner than the marker of an earlier one."""
        if not self.raises(ttl):
            return headers, ttl
        rest = hdr.without(headers, hdr.TTL)
        return hdr.extend(rest, (hdr.TTL, b"%d" % self._least)), self._least

    def note(self, seq: int, ttl: int) -> None:
        """The newest message has a TTL."""
        if ttl == NEVER:
            if not self._never:
                self._never = True
                self._put(b"never", b"\1")
            return
        now = self._store.last_ts
        deadline = now + ttl * SECOND
        if deadline < FAR:
            self._add(seq, deadline, now)

    def _add(self, seq: int, deadline: int, now: int) -> None:
        table = self._table
        table.add(seq, deadline, now)
        if table.changed:
            table.forget_before(self._store.first_seq)
        if table.crowded(self._store.messages):
            table.shrink(self._next_live)
        self._save()
        if self._ttl is None or deadline < self._ttl_due:
            self._arm_ttl()

    def _next_live(self, seq: int) -> int:
        message = self._store.next(seq)
        return message.seq if message is not None else 0

    # -- age ---------------------------------------------------------------------------------------

    def arm_age(self) -> None:
        ts = self._store.first_ts
        if self._selective:
            message = self._store.next(self._looked)
            ts = message.ts if message is not None else 0
        if ts:
            due = ts + self._max_age - self._shared.clock.now_ns()
            self.age = self._shared.timers.call_later(max(due / 1e9, STEP), self._expire_old)

    @property
    def _selective(self) -> bool:
        return bool(self._marker) or self._never

    def _expire_old(self) -> None:
        """Drop what is too old and sleep until the next one is."""
        self.age = None
        if not self._max_age or not self._active:
            return
        more = self._drop_old()
        self._tell()
        if more:
            self.age = self._shared.timers.call_later(0, self._expire_old)
        else:
            self.arm_age()

    @property
    def _active(self) -> bool:
        return self._ready and not self._stream.closed and not self._shared.store.failed

    def _drop_old(self) -> bool:
        """A slice of it. True if there may be more."""
        store, horizon = self._store, self._shared.clock.now_ns() - self._max_age
        if not self._max_age or not store.messages or store.first_ts > horizon:
            return False
        if not self._selective:
            store.trim(store.seq_at(horizon + 1))
            return False
        for _ in range(limits.EXPIRE_SLICE):
            message = store.next(self._looked)
            if message is None or message.ts > horizon:
                return False
            self._looked = message.seq + 1
            if ttl_of(message.headers) != NEVER:
                self._expire(message)
        return True

    # -- TTL ---------------------------------------------------------------------------------------

    def _arm_ttl(self, more: bool = False) -> None:
        if self._ttl is not None:
            self._ttl.cancel()
            self._ttl = None
        self._ttl_due = due = self._table.next_due()
        if due:
            delay = 0.0 if more else max((due - self._shared.clock.now_ns()) / 1e9, STEP)
            self._ttl = self._shared.timers.call_later(delay, self._expire_due)

    def _expire_due(self) -> None:
        """Drop what is past its TTL and sleep until the next one is."""
        self._ttl = None
        if self._active:
            more = self._drop_due()
            self._tell()
            self._arm_ttl(more)

    def _drop_due(self) -> bool:
        """A slice of it. True if there may be more."""
        now = self._shared.clock.now_ns()
        due = self._table.take(now, limits.EXPIRE_SLICE, self._read)
        if not self._marker:
            self._discard(due)
        else:
            for seq in due:
                message = self._store.get(seq)
                if message is not None:
                    self._expire(message)
        self._save()
        return len(due) >= limits.EXPIRE_SLICE

    def _read(self, chunk: int) -> Iterator[tuple[int, int]]:
        first = chunk << limits.TTL_CHUNK
        for message in self._store.headed(first, first + (1 << limits.TTL_CHUNK) - 1):
            deadline = deadline_of(message.ts, message.headers)
            if deadline < FAR:
                yield message.seq, deadline

    # -- removal -----------------------------------------------------------------------------------

    def _discard(self, seqs: list[int]) -> None:
        """Messages go. Those at the front go together: if all have the same TTL, that is all of them."""
        store, at = self._store, 0
        while at < len(seqs) and seqs[at] == store.first_seq + at:
            at += 1
        if at:
            store.trim(seqs[at - 1] + 1)
        for seq in seqs[at:]:
            store.discard(seq)

    def _expire(self, message: Message) -> None:
        """The message goes, maybe for a marker."""
        seq, subject, store = message.seq, message.subject, self._store
        if not self._marker or is_marker(message.headers) or store.count(subject) > 1:
            store.discard(seq)
            return
        try:
            self._stream.store_message(subject, self._marker, b"", replaces=seq)
        except ApiError:
            now = self._shared.clock.now_ns()
            self._table.add(seq, now + limits.TTL_RETRY * SECOND, now)
            self._arm_ttl()

    def _tell(self) -> None:
        self._stream.consumers.announce()
        self._shared.outbox.commit_soon()

    # -- what survives a restart -------------------------------------------------------------------

    def _load(self) -> None:
        for key, value in self._shared.store.meta_items(self._prefix):
            if key.endswith(b"never"):
                self._never = True
            else:
                self._table.load(_decode(value))

    def _save(self) -> None:
        """Stage the bounds that changed."""
        table = self._table
        if not table.changed:
            return
        for piece in {chunk >> limits.TTL_PIECE for chunk in table.changed}:
            first = piece << limits.TTL_PIECE
            chunks = range(first, first + (1 << limits.TTL_PIECE))
            bounds = {chunk: table.bounds[chunk] for chunk in chunks if chunk in table.bounds}
            self._put(b"%016x" % piece, _encode(bounds) if bounds else None)
        table.changed.clear()

    def _put(self, key: bytes, value: bytes | None) -> None:
        if self._kept:
            self._shared.store.put_meta(self._prefix + key, value)
