"""Messages that publish other messages when their time has come (`allow_msg_schedules`).

A schedule is a stored message with `Nats-Schedule`; a subject has one at most, as it rolls up its subject. So
a table from subjects to times is all there is to remember. A message on the subject of a schedule ends it
at once. One that was deleted, purged or pushed out by a limit is found out when its time comes.

When it is due the message for its target is stored, and in the same commit the schedule is removed (once) or
its next time noted. Times are stored next to the messages, one record for each schedule. So a crash between
two times changes nothing, and one that was due while the server was down is due once when it is back.

Those that are due together go in the order in which they were stored, in slices.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from jetstream_py import headers as hdr
from jetstream_py import limits, subject
from jetstream_py.api.errors import ApiError, E, error
from jetstream_py.engine.expiry import STEP
from jetstream_py.engine.plan import Plan, read_plan
from jetstream_py.engine.ttl import FAR, SECOND, parse_ttl
from jetstream_py.timers import Timer

if TYPE_CHECKING:
    from jetstream_py.api.types import StreamConfig
    from jetstream_py.engine.expect import Fields
    from jetstream_py.engine.stream import Stream
    from jetstream_py.store import Message

_SUB: Final = b"sub"
PURGE: Final = b"purge"
# Of a schedule or of its source, what its messages do not inherit.
_OWN: Final = (hdr.SCHEDULE, b"Nats-Expected-", b"Nats-Msg-Id:", b"Nats-TTL:", b"Nats-Rollup:")


class _Row(msgspec.Struct, array_like=True):
    """What is stored of a schedule, under its sequence."""

    due: int
    subject: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Row).decode


class _Entry(NamedTuple):
    due: int
    seq: int


def prefix(sid: int) -> bytes:
    """Of the keys of a stream's schedules."""
    return b"s%08x" % sid


# -- what a publish may ask for --------------------------------------------------------------------


def check_schedule(stream: Stream, name: bytes, headers: Fields) -> int | None:
    """When a publish to subject `name` is due; None if it is no schedule."""
    pattern, zone = headers.get(hdr.SCHEDULE, b""), headers.get(hdr.SCHEDULE_TIME_ZONE)
    if not pattern and zone is None:
        return None
    config = stream.config
    try:
        plan = read_plan(pattern, zone)
        if plan is None:
            return None
        due = plan.due(stream.shared.clock.now_ns())
        if due is None:
            raise error(E.MESSAGE_SCHEDULES_PATTERN_INVALID)
    except ApiError:
        if not config.allow_msg_schedules:
            raise error(E.MESSAGE_SCHEDULES_DISABLED) from None
        raise
    if not config.allow_msg_schedules:
        raise error(E.MESSAGE_SCHEDULES_DISABLED)
    _check_product(stream, name, headers)
    return due


def _check_product(stream: Stream, name: bytes, headers: Fields) -> None:
    """What the messages of the schedule are to be."""
    ttl = headers.get(hdr.SCHEDULE_TTL)
    if ttl and not parse_ttl(ttl):
        raise error(E.MESSAGE_SCHEDULES_TTL_INVALID)
    if headers.get(hdr.SCHEDULE_ROLLUP, b"") not in (b"", _SUB):
        raise error(E.MESSAGE_SCHEDULES_ROLLUP_INVALID)
    if ttl and not stream.config.allow_msg_ttl:
        raise error(E.MESSAGE_TTL_DISABLED)
    target, source = headers.get(hdr.SCHEDULE_TARGET, b""), headers.get(hdr.SCHEDULE_SOURCE)
    if source and (source in (target, name) or not _holds(stream, source)):
        raise error(E.MESSAGE_SCHEDULES_SOURCE_INVALID)
    if target == name or not _holds(stream, target):
        raise error(E.MESSAGE_SCHEDULES_TARGET_INVALID)
    if headers.get(hdr.ROLLUP, b"").lower() not in (b"", _SUB):
        raise error(E.MESSAGE_SCHEDULES_ROLLUP_INVALID)


def _holds(stream: Stream, name: bytes) -> bool:
    return _is_literal(name) and any(subject.matches(name, pattern) for pattern in stream.subjects)


def _is_literal(name: bytes) -> bool:
    return subject.is_valid(name) and subject.is_literal(name)


def check_end(
    stream: Stream, name: bytes, headers: Fields, batch: Mapping[bytes, tuple[bytes, bytes]] = {}
) -> None:
    """A publish may end a schedule, as the last message of one does. `batch` has the newest messages that
    are to be stored before it, by subject."""
    scheduler, following = headers.get(hdr.SCHEDULER), headers.get(hdr.SCHEDULE_NEXT)
    if not scheduler and not following:
        return
    fault = error(E.MESSAGE_SCHEDULES_SCHEDULER_INVALID)
    if not scheduler or following != PURGE:
        raise fault
    if scheduler == name or not _is_literal(scheduler):
        raise fault
    if not stream.config.allow_msg_schedules:
        raise error(E.MESSAGE_SCHEDULES_DISABLED)
    last = stream.store.newest(scheduler) if scheduler not in batch else None
    block = last.headers if last is not None else batch.get(scheduler, (None,))[0]
    if block is not None and not hdr.get(block, hdr.SCHEDULE):
        raise fault


def product(
    name: bytes, schedule: Fields, sample: Message, following: bytes
) -> tuple[bytes, bytes]:
    """Headers and payload of the message that the schedule on subject `name` publishes."""
    start, *lines = sample.headers.split(b"\r\n") if sample.headers else (hdr.START, b"", b"")
    block = b"\r\n".join([start, *(line for line in lines if not line.startswith(_OWN))])
    pairs = [(hdr.SCHEDULER, name), (hdr.SCHEDULE_NEXT, following)]
    if ttl := schedule.get(hdr.SCHEDULE_TTL):
        pairs.append((hdr.TTL, ttl))
    if rollup := schedule.get(hdr.SCHEDULE_ROLLUP):
        pairs.append((hdr.ROLLUP, rollup))
    return hdr.extend(block, *pairs), sample.data


# -- what a stream remembers -----------------------------------------------------------------------


class Schedules:
    """The schedules of one stream and their timer."""

    def __init__(self, stream: Stream, config: StreamConfig) -> None:
        self._stream = stream
        self._shared = stream.shared
        self._store = stream.store
        self._table: dict[bytes, _Entry] = {}
        self._heap: list[tuple[int, int, bytes]] = []  # stale unless the table says the same
        self._timer: Timer | None = None
        self._timer_due = 0
        self._prefix = prefix(stream.store.sid)
        self._kept = config.storage == "file"
        self._known = False  # the table has all of them
        if config.allow_msg_schedules and self._kept:
            self._load()

    def __len__(self) -> int:
        return len(self._table)

    def configure(self, config: StreamConfig) -> None:
        """The first time that schedules are allowed, as in a stream that was restored, those that are there
        already are looked for. Nobody knows what they have missed: those that repeat go on from now."""
        if not config.allow_msg_schedules or self._known:
            return
        self._known = True
        self._put(b"known", b"\1")
        now = self._shared.clock.now_ns()
        for message in self._store.headed(self._store.first_seq, self._store.last_seq):
            plan = self._plan(hdr.fields(message.headers))
            due = plan.due(now) if plan is not None else None
            if due is not None and self._store.last(message.subject) == message.seq:
                self.note(message.subject, message.seq, due)

    def close(self, deleted: bool) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if deleted and self._kept:
            for key, _ in self._shared.store.meta_items(self._prefix):
                self._shared.store.put_meta(key, None)

    def note(self, name: bytes, seq: int, due: int) -> None:
        """The message is a schedule."""
        due = min(max(due, 0), FAR - 1)  # a number that can be stored
        self._table[name] = _Entry(due, seq)
        heapq.heappush(self._heap, (due, seq, name))
        self._put(b"%016x" % seq, _encode(_Row(due, name)))
        if len(self._table) > 2 * self._store.messages + limits.TTL_SLACK:
            self._forget_gone()
        if len(self._heap) > 2 * len(self._table) + limits.TTL_SLACK:
            self._heap = [(entry.due, entry.seq, key) for key, entry in self._table.items()]
            heapq.heapify(self._heap)
        if self._timer is None or due < self._timer_due:
            self.arm()

    def cancel(self, names: Sequence[bytes]) -> None:
        """There is something newer on these subjects."""
        for name in self._table.keys() & set(names):
            self._forget(name)

    def _forget(self, name: bytes) -> None:
        entry = self._table.pop(name, None)
        if entry is not None:
            self._put(b"%016x" % entry.seq, None)

    def _forget_gone(self) -> None:
        gone = [key for key, entry in self._table.items() if self._store.last(key) != entry.seq]
        for name in gone:
            self._forget(name)

    # -- time --------------------------------------------------------------------------------------

    def arm(self, more: bool = False) -> None:
        """Set the timer for the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        heap = self._heap
        while heap and self._table.get(heap[0][2]) != heap[0][:2]:
            heapq.heappop(heap)
        if heap:
            self._timer_due = heap[0][0]
            wait = (self._timer_due - self._shared.clock.now_ns()) / SECOND
            if wait <= 0:  # what was late before it came may wait for others like it
                wait = 0.0 if more else STEP
            delay = min(wait, limits.SCHEDULE_NAP)
            self._timer = self._shared.timers.call_later(delay, self._publish_due)

    def _publish_due(self) -> None:
        self._timer = None
        stream = self._stream
        if stream.closed or stream.config.sealed or self._shared.store.failed:
            return
        now = self._shared.clock.now_ns()
        due: list[tuple[int, bytes]] = []
        while self._heap and self._heap[0][0] <= now and len(due) < limits.EXPIRE_SLICE:
            due_at, seq, name = heapq.heappop(self._heap)
            if self._table.get(name) == (due_at, seq):
                due.append((seq, name))
        for seq, name in sorted(due):
            if name in self._table:  # unless one before it was published to its subject
                self._publish(name, seq, now)
        if due:
            stream.consumers.announce()
            self._shared.outbox.commit_soon()
        self.arm(more=len(due) >= limits.EXPIRE_SLICE)

    def _publish(self, name: bytes, seq: int, now: int) -> None:
        """The time of a schedule has come."""
        self._forget(name)
        message = self._store.newest(name)
        if message is None or message.seq != seq:
            return
        fields = hdr.fields(message.headers)
        plan = self._plan(fields)
        if plan is None:
            return
        following = None if plan.once else plan.due(now)
        told = plan.text(following).encode() if following is not None else PURGE
        source = fields.get(hdr.SCHEDULE_SOURCE)
        sample = self._store.newest(source) if source else None
        headers, data = product(name, fields, sample or message, told)
        try:
            target = self._stream.renamed(fields.get(hdr.SCHEDULE_TARGET, b""))
            self._stream.store_message(target, headers, data, own=True)
        except ApiError:  # there is no room for it: what cannot be repeated is tried again
            following = following or now + limits.TTL_RETRY * SECOND
        if following is not None and self._store.last(name) == seq:
            self.note(name, seq, following)

    def _plan(self, fields: Fields) -> Plan | None:
        """Of a stored message; a zone may be gone meanwhile."""
        try:
            return read_plan(fields.get(hdr.SCHEDULE, b""), fields.get(hdr.SCHEDULE_TIME_ZONE))
        except ApiError:
            return None

    # -- what survives a restart -------------------------------------------------------------------

    def _load(self) -> None:
        for key, value in self._shared.store.meta_items(self._prefix):
            if key.endswith(b"known"):
                self._known = True
                continue
            row = _decode(value)
            seq = int(key[len(self._prefix) :], 16)
            self._table[row.subject] = _Entry(row.due, seq)
            self._heap.append((row.due, seq, row.subject))
        heapq.heapify(self._heap)

    def _put(self, key: bytes, value: bytes | None) -> None:
        if self._kept:
            self._shared.store.put_meta(self._prefix + key, value)
