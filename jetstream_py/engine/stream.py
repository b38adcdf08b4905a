"""One stream: what happens to a message between its publish and its place in the store.

The order of the checks is the order in which nats-server answers, because a message can break several
rules at once and clients see the first. Nothing is stored before all of them have passed. State
changes at once; answers wait in the outbox for the commit (see `outbox`).

Limits are enforced after each append, in this order: per subject, messages, bytes. What time removes is
the business of `expiry`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import groupby
from operator import add
from typing import TYPE_CHECKING

from jetstream_py import headers as hdr
from jetstream_py.api.errors import ApiError, error
from jetstream_py.api.extensions import is_immutable
from jetstream_py.api.responses import pub_ack_error, pub_ack_start
from jetstream_py.api.times import time_text
from jetstream_py.engine import counter, headed
from jetstream_py.engine.batch import AtomicBatches
from jetstream_py.engine.chain import Chain
from jetstream_py.engine.consumers import Consumers
from jetstream_py.engine.dedupe import Dedupe
from jetstream_py.engine.expect import Fields, check_expectations, rollup_of
from jetstream_py.engine.expiry import STEP, Expiry
from jetstream_py.engine.fast_batch import FastBatches
from jetstream_py.engine.fast_reply import SUFFIX
from jetstream_py.engine.headed import Asked
from jetstream_py.engine.inflow import Inflow
from jetstream_py.engine.naming import short_hash
from jetstream_py.engine.origin import Place
from jetstream_py.engine.origins import Origins
from jetstream_py.engine.purge import PurgeDone, Purges
from jetstream_py.engine.republish import Republisher
from jetstream_py.engine.schedule import PURGE, Schedules
from jetstream_py.engine.traced import DUPLICATE, Probe, TraceOnly, shown
from jetstream_py.engine.ttl import parse_ttl
from jetstream_py.timers import Timer
from jetstream_py.transforms.make import Transform, compile_transform

if TYPE_CHECKING:
    from jetstream_py.api.types import StreamConfig
    from jetstream_py.engine.shared import Item, Outcome, Shared
    from jetstream_py.store import Columns, Purge, StreamStore

MAX_HEADERS = headed.MOST
NO_LIMIT = 1 << 62


class Stream:
    """A stream that is open."""

    def __init__(
        self, shared: Shared, config: StreamConfig, store: StreamStore, created_ns: int
    ) -> None:
        self.shared = shared
        self.store = store
        self.created_ns = created_ns
        self.dedupe = Dedupe(0)
        self._inflow = Inflow(shared, config.name)
        self.consumers = Consumers(self)
        self.closed = False
        self.probe: Probe | None = None  # while a traced message is published
        self._purges = Purges(self)
        self._batches = AtomicBatches(self)
        self._fast = FastBatches(self)
        self._last_id = b""  # of the newest message; outlives it
        self._ids: Timer | None = None
        self.expiry = Expiry(self, config)
        self.schedules = Schedules(self, config)
        self.origins = Origins(self)
        self.chain = Chain(self) if is_immutable(config.metadata) else None
        self.configure(config)

    def configure(self, config: StreamConfig) -> None:
        """Take a checked configuration; lowered limits apply at once."""
        self.config = config
        self.name = config.name.encode()
        self.subjects = tuple(subject.encode() for subject in config.subjects or ())
        self.ack_start = pub_ack_start(config.name, self.shared.domain)
        if not config.allow_atomic:
            self._batches.clear()
        if not config.allow_batched:
            self._fast.clear()
        self.dedupe.window_ns = config.duplicate_window
        transform, republish = config.subject_transform, config.republish
        self._transform: Transform | None = None
        if transform is not None:
            self._transform = compile_transform(transform.src, transform.dest, random.randrange)
        self._republisher: Republisher | None = None
        if republish is not None:
            self._republisher = Republisher(config.name, republish, random.randrange)
        # A run may be stored as a whole when no message of it can be refused for what those before it
        # did (`_takes`), and when limits have the same result after it as after each of its messages.
        # That fails in one case: a large message pushes an old one out, then a small one takes its place.
        self.runs = config.retention != "interest" and not (
            config.sealed
            or config.allow_msg_counter
            or self._transform
            or self._republisher
            or config.discard_new_per_subject
            or (
                config.discard == "old" and config.max_bytes > 0 and config.max_msgs_per_subject > 0
            )
        )
        self._enforce_all()
        self.expiry.configure(config)
        self.schedules.configure(config)
        self.consumers.announce()
        self.origins.configure(config)

    def recover(self) -> None:
        """After a restart: the ids of the window and the limits that passed meanwhile."""
        now = self.shared.clock.now_ns()
        newest = self.store.get(self.store.last_seq)
        self._last_id = (newest and hdr.get(newest.headers, hdr.MSG_ID)) or b""
        if self.dedupe.window_ns:
            for message in self.store.tail_headers(now - self.dedupe.window_ns):
                msg_id = hdr.get(message.headers, hdr.MSG_ID)
                if msg_id:
                    self.dedupe.add(msg_id, message.seq, message.ts)
            self._arm_ids()
        self.consumers.recover()
        self._enforce_all()
        self.expiry.recover()
        self.schedules.arm()

    def close(self, deleted: bool = False) -> None:
        self.closed = True
        self.origins.close(deleted)
        self.consumers.close(deleted)
        self.expiry.close(deleted)
        self._batches.clear()
        self._fast.clear()
        self.schedules.close(deleted)
        if self.chain is not None:
            self.chain.close(deleted)
        if self._ids is not None:
            self._ids.cancel()

    @property
    def identity(self) -> str:
        """Tells the stream from another one that had or will have its name."""
        return short_hash(time_text(self.created_ns))

    @property
    def visible_seq(self) -> int:
        """Consumers see messages up to here: what is on disk, unless acks leave before that, too."""
        return self.store.last_seq if self.shared.store.lazy else self.store.durable_seq

    # -- publish ----------------------------------------------------------------------------------

    def publish(self, items: list[Item]) -> None:
        """Messages on our subjects, from anybody."""
        inflow, store = self._inflow, self.shared.store
        if not (store.busy or inflow.tight):
            self._take(items)
        elif admitted := inflow.admit(items):
            before = store.staged_bytes
            self._take(admitted)
            inflow.took(store.staged_bytes - before)

    def _take(self, items: list[Item]) -> None:
        if self.runs and not self.shared.store.failed:
            subjects, replies, headers, datas = zip(*items, strict=True)
            if self._store_run(subjects, replies, headers if any(headers) else (), datas):
                self.consumers.announce(subjects)
                return
        at = 0
        while at < len(items):
            taken = self._batches.carry_on(items, at) if len(self._batches) else 0
            if not taken:
                self._publish(*items[at])
            at += taken or 1
        transformed = self._transform is not None
        self.consumers.announce(None if transformed else [item[0] for item in items])

    def _store_run(
        self,
        subjects: Sequence[bytes],
        replies: Sequence[bytes],
        headers: Sequence[bytes],
        datas: Sequence[bytes],
    ) -> bool:
        """Store messages as a whole, if that can be done."""
        if b"$" in (joined := b" ".join(replies)) and SUFFIX in joined:
            return not headers and self._fast.publish_run(subjects, replies, datas)
        asked = headed.read(headers) if headers else headed.NOTHING
        if asked is None or not self.takes(subjects, datas, headers) or not self._grants(asked):
            return False
        first = self._publish_run(subjects, replies, headers, datas)
        if asked.ids:
            self._last_id = asked.ids[-1]
            self.dedupe.add_run(asked.ids, first, self.store.last_ts)
            self._arm_ids()
        for seq, ttl in enumerate(asked.ttls, first):
            self.expiry.note(seq, ttl)
        return True

    def _grants(self, asked: Asked) -> bool:
        """Is nothing of what the messages ask for refused, or changes them?"""
        if asked.ids and self.dedupe.knows_any(asked.ids, self.shared.clock.now_ns()):
            return False
        return not asked.ttls or (
            self.config.allow_msg_ttl and not any(map(self.expiry.raises, set(asked.ttls)))
        )

    def takes(
        self, subjects: Sequence[bytes], datas: Sequence[bytes], headers: Sequence[bytes] = ()
    ) -> bool:
        """Is every message small enough, and room for all of them?"""
        config, store = self.config, self.store
        if config.max_msg_size >= 0:
            sizes = map(add, map(len, headers), map(len, datas)) if headers else map(len, datas)
            if config.max_msg_size < max(sizes):
                return False
        size = store.run_size(subjects, datas, headers)
        if config.discard == "new" and (
            0 < config.max_msgs < store.messages + len(datas)
            or 0 < config.max_bytes < store.bytes + size
        ):
            return False
        return self.shared.store.room(size) and self.shared.quota.takes_run(self, size)

    def _publish_run(
        self,
        subjects: Sequence[bytes],
        replies: Sequence[bytes],
        headers: Sequence[bytes],
        datas: Sequence[bytes],
    ) -> int:
        """Messages that nothing refuses. Returns the first sequence."""
        first, shared = self.append_run(subjects, datas, headers), self.shared
        if self.config.no_ack:
            return first
        at = 0
        for wanted, run in groupby(replies, bool):
            group = list(run)
            if wanted:
                shared.outbox.send_acks(shared.bus, group, self.ack_start, first + at, b"}")
            at += len(group)
        return first

    def append_run(
        self, subjects: Sequence[bytes], datas: Sequence[bytes], headers: Sequence[bytes] = ()
    ) -> int:
        """Append what nothing refuses. Returns the first sequence."""
        shared, store, config = self.shared, self.store, self.config
        if config.max_msgs_per_subject == 1:
            first = store.replace_run(subjects, datas, shared.clock.now_ns(), headers)
        else:
            first, names = store.append_run(subjects, datas, shared.clock.now_ns(), headers)
            if config.max_msgs_per_subject > 0:
                for name in names:
                    self._enforce_subject(name)
        self._appended(subjects)
        return first

    def take_copies(self, run: Columns) -> bool:
        """Store messages of an origin that ask for nothing as a whole, if that can be done."""
        if not self.runs or self.config.max_msgs_per_subject > 0 or self.shared.store.failed:
            return False
        if not self.takes(run.subjects, run.datas, run.headers if any(run.headers) else ()):
            return False
        self.store.append_columns(run)
        self._appended(run.subjects)
        return True

    def _appended(self, subjects: Sequence[bytes]) -> None:
        """A run is there."""
        self._last_id = b""
        if self.schedules:
            self.schedules.cancel(subjects)
        self._enforce_totals()
        if self.config.max_age and self.expiry.age is None:
            self.expiry.arm_age()
        self.shared.outbox.commit_soon()

    def _publish(self, subject: bytes, reply: bytes, headers: bytes, data: bytes) -> None:
        """One message, whatever it asks for."""
        if reply.endswith(SUFFIX):
            self._fast.publish(subject, reply, headers, data)
            self.shared.outbox.commit_soon()  # most of them are not answered
            return
        wants_ack = reply and not self.config.no_ack
        batched = hdr.BATCH_ID in headers and hdr.get(headers, hdr.BATCH_ID)
        publish = self._batches.publish if batched else self.store_message
        try:
            ack = publish(self.renamed(subject), headers, data)
        except ApiError as refusal:
            if self.probe is not None:
                self.probe.refused(refusal)
            self.shared.outbox.commit_soon()
            if wants_ack:
                self._answer(reply, pub_ack_error(self.config.name, refusal))
            return
        self.shared.outbox.commit_soon()
        if wants_ack:
            self._answer(reply, ack)

    def publish_traced(self, item: Item, only: bool) -> Outcome | None:
        """One message, and what became of it (see `traced`)."""
        self.probe = probe = Probe(only)
        try:
            self.publish([item])
        except TraceOnly:
            pass
        finally:
            self.probe = None
        return probe.outcome(self.config.name)

    def renamed(self, subject: bytes) -> bytes:
        """The subject that a message is stored under."""
        return subject if self._transform is None else self._transform(subject) or subject

    def _answer(self, reply: bytes, data: bytes) -> None:
        self.shared.outbox.send(self.shared.bus, reply, data)

    def store_message(
        self, subject: bytes, headers: bytes, data: bytes, replaces: int = 0, own: bool = False
    ) -> bytes:
        """Check and append. Returns the PubAck. What a rollup of the subject removes need not be looked for
        if it `replaces` the only message. A message of the stream's `own` expects nothing."""
        config = self.config
        headers = self.admit(headers, data)
        self.check_size(headers, data)
        msg_id = rollup = ends = tail = b""
        ttl: int | None = 0
        due: int | None = None
        if hdr.PREFIX in headers:
            fields = hdr.fields(headers)
            if not own:
                due = check_expectations(self, subject, fields, data)
            msg_id = fields.get(hdr.MSG_ID, b"")
            if msg_id and (seen := self.dedupe.find(msg_id, self.shared.clock.now_ns())):
                if self.probe is not None:
                    self.probe.error = DUPLICATE
                return self.ack_start + b'%d,"duplicate": true}' % seen
            self._check_last_id(fields.get(hdr.EXPECTED_LAST_MSG_ID))
            rollup = rollup_of(config, fields)
            ttl = parse_ttl(value) if (value := fields.get(hdr.TTL)) else 0
            ends = self.ends(fields)
            if due is not None and not fields.get(hdr.ROLLUP):
                headers = hdr.extend(headers, (hdr.ROLLUP, b"sub"))
                self.check_size(headers, data)
                rollup = b"" if hdr.ROLLUP in fields else b"sub"
        if config.allow_msg_counter:
            headers, data, tail = self._count(subject, headers)
        seq = self.keep(subject, headers, data, msg_id, rollup, ttl, due, ends, replaces)
        return self.ack_start + b"%d%b}" % (seq, tail)

    def keep(
        self,
        subject: bytes,
        headers: bytes,
        data: bytes,
        msg_id: bytes,
        rollup: bytes,
        ttl: int | None,
        due: int | None = None,
        ends: bytes = b"",
        replaces: int = 0,
        at: Place | None = None,
    ) -> int:
        """Store what has passed its checks, if there is room for it. Returns the sequence, which is used up
        even if nobody is interested. A mirror says where it goes: `at`."""
        config = self.config
        quota = self.shared.quota if self.shared.quota.counts[config.storage] else None
        size = self.store.size(subject, headers, data) if quota is not None else 0
        if quota is not None:
            quota.check_server(self, size)
        wanted = self.wants(subject)
        if self.probe is not None:
            self.probe.arrive(subject, wanted)
        if not wanted:
            return self.skip(msg_id, ends, at)
        if not self.shared.store.room():
            raise error(10023)
        if quota is not None:
            quota.check_account(self, size)
        if ttl is None:
            raise error(10165)
        if ttl:
            headers, ttl = self.expiry.raised(headers, ttl)
        self._check_discard_new(subject, headers, data, bool(rollup))
        return self.place(subject, headers, data, msg_id, rollup, ttl, due, ends, replaces, at)

    def admit(self, headers: bytes, data: bytes) -> bytes:
        """What is asked of every message before anybody looks at its headers. Returns those to be stored."""
        self.check_open()
        if headers and hdr.REQUEST_INFO in headers:  # it was for whoever served the publish
            headers = hdr.without(headers, hdr.REQUEST_INFO)
        if 0 <= self.config.max_msg_size < len(headers) + len(data):
            raise error(10054)
        return hdr.without_status(headers)

    def check_open(self) -> None:
        """Does the stream take anything at all?"""
        if self.shared.store.failed:
            raise error(10077, err=f"the store is out of service: {self.shared.store.failed}")
        if self.config.sealed:
            raise error(10109)

    def wants(self, subject: bytes) -> bool:
        """Is a message on that subject to be kept?"""
        return self.config.retention != "interest" or self.consumers.interested(subject)

    def place(
        self,
        subject: bytes,
        headers: bytes,
        data: bytes,
        msg_id: bytes,
        rollup: bytes,
        ttl: int,
        due: int | None,
        ends: bytes,
        replaces: int = 0,
        at: Place | None = None,
    ) -> int:
        """Append a message that nothing refuses, and remove what it rolls up."""
        seq = self._append(subject, headers, data, msg_id, at)
        if replaces:
            self.store.discard(replaces)
        elif rollup == b"sub":
            if self.store.count(subject) > 1:
                self.store.purge(subject, before=seq)
        elif rollup == b"all":
            self.store.purge(before=seq)
        if ttl:
            self.expiry.note(seq, ttl)
        if due is not None:
            self.schedules.note(subject, seq, due)
        if ends:
            self._end_schedule(ends)
        return seq

    def _count(self, subject: bytes, headers: bytes) -> tuple[bytes, bytes, bytes]:
        """Headers and payload of a counter's message, and what its PubAck says beside the sequence."""
        headers, data, total = counter.add(*self.newest_counter(subject), headers)
        self.check_size(headers, data)
        return headers, data, b',"val":"%b"' % total

    def newest_counter(self, subject: bytes) -> tuple[bytes, bytes]:
        """What the last message of a counter holds."""
        last = self.store.newest(subject)
        return (last.headers, last.data) if last is not None else (b"", b"")

    def ends(self, fields: Fields) -> bytes:
        """The schedule that a message ends, if any."""
        ends = self.config.allow_msg_schedules and fields.get(hdr.SCHEDULE_NEXT) == PURGE
        return fields.get(hdr.SCHEDULER, b"") if ends else b""

    def _end_schedule(self, subject: bytes) -> None:
        self.store.purge(subject)
        self.schedules.cancel((subject,))

    def _append(
        self, subject: bytes, headers: bytes, data: bytes, msg_id: bytes, at: Place | None
    ) -> int:
        now = self.shared.clock.now_ns() if at is None else at.ts
        republisher = self._republisher
        copy_to = republisher.wants(subject) if republisher is not None else b""
        last = self.store.last(subject) if copy_to else 0
        alone = self.config.max_msgs_per_subject == 1
        if at is not None:
            seq = self.store.append(subject, headers, data, now, at.seq)
        else:
            append = self.store.replace if alone else self.store.append
            seq = append(subject, headers, data, now)
        if self.schedules:
            self.schedules.cancel((subject,))
        if republisher is not None and copy_to:
            stored = (subject, headers, data, seq, now)
            republisher.send(self.shared.outbox, self.shared.bus, copy_to, stored, last)
        self._last_id = msg_id
        if msg_id:
            self.dedupe.add(msg_id, seq, now)
            self._arm_ids()
        if self.config.max_msgs_per_subject > 1 or (alone and at is not None):
            self._enforce_subject(subject)
        self._enforce_totals()
        if self.config.max_age and self.expiry.age is None:
            self.expiry.arm_age()
        return seq

    def skip(self, msg_id: bytes, ends: bytes, at: Place | None = None) -> int:
        """Nobody is interested: the sequence is used up, the message is not kept."""
        self.store.last_ts = now = self.shared.clock.now_ns() if at is None else at.ts
        seq = self.store.skip(1 if at is None else at.seq - self.store.last_seq)
        if msg_id:
            self.dedupe.add(msg_id, seq, now)
            self._arm_ids()
        if ends:
            self._end_schedule(ends)
        return seq

    def check_size(self, headers: bytes, data: bytes) -> None:
        limit = self.config.max_msg_size
        if 0 <= limit < len(headers) + len(data):
            raise error(10054)
        if len(headers) > MAX_HEADERS:
            raise error(10097)

    def _check_last_id(self, expected: bytes | None) -> None:
        if expected and self._last_id != expected:
            cause = f"last msgid mismatch: {shown(expected)} vs {shown(self._last_id)}"
            raise error(10070, cause=cause, id=self._last_id.decode("utf-8", "replace"))

    def _check_discard_new(self, subject: bytes, headers: bytes, data: bytes, rollup: bool) -> None:
        config, store = self.config, self.store
        if config.discard != "new":
            return
        if max(config.max_msgs, config.max_bytes) <= 0 and not config.discard_new_per_subject:
            return
        per_subject = config.max_msgs_per_subject
        full = per_subject > 0 and store.count(subject) >= per_subject
        if full and config.discard_new_per_subject:
            if not rollup:
                raise error(10077, err="maximum messages per subject exceeded")
            return
        size = store.size(subject, headers, data)
        # At the limit of its subject it will replace the oldest one: then only bytes count. The real
        # file store takes off what the old one holds, without its overhead; the memory store nothing.
        if full and config.storage == "file":
            oldest = store.get(store.oldest(subject))
            if oldest is not None:
                size -= len(oldest.subject) + len(oldest.headers) + len(oldest.data)
        if not full and 0 < config.max_msgs <= store.messages:
            raise error(10077, err="maximum messages exceeded")
        if config.max_bytes > 0 and store.bytes + size > config.max_bytes:
            raise error(10077, err="maximum bytes exceeded")

    # -- limits -----------------------------------------------------------------------------------

    def _enforce_subject(self, subject: bytes) -> None:
        store = self.store
        for _ in range(store.count(subject) - self.config.max_msgs_per_subject):
            store.discard(store.oldest(subject))

    def _enforce_totals(self) -> None:
        config, store = self.config, self.store
        if config.discard == "new":
            return  # what is there stays; what comes is refused
        if config.max_msgs > 0 or config.max_bytes > 0:
            store.shrink(
                config.max_msgs if config.max_msgs > 0 else NO_LIMIT,
                config.max_bytes if config.max_bytes > 0 else NO_LIMIT,
            )

    def _enforce_all(self) -> None:
        """After a change of the limits, or a restart."""
        most = self.config.max_msgs_per_subject
        if most > 1:
            self.store.expect_oldest()
        if most > 0:
            for subject, count in self.store.subjects().items():
                if count > most:
                    self.store.purge(subject, keep=most)
        self._enforce_totals()

    def _arm_ids(self) -> None:
        if self._ids is None and len(self.dedupe):
            due = self.dedupe.next_expiry() - self.shared.clock.now_ns()
            self._ids = self.shared.timers.call_later(max(due / 1e9, STEP), self._expire_ids)

    def _expire_ids(self) -> None:
        self._ids = None
        self.dedupe.expire(self.shared.clock.now_ns())
        if not self.closed:
            self._arm_ids()

    # -- administration ---------------------------------------------------------------------------

    def purge(self, pattern: bytes, before: int, keep: int, done: PurgeDone) -> None:
        """`done` gets the count, at once or after a while (`purge`), or None if the stream is gone."""
        self._check_open(self.config.deny_purge, 10110, "stream purge not permitted")
        end = before or self.store.last_seq + 1  # what comes later is not meant

        def begin() -> Purge:
            self.consumers.purging = True
            return self.store.begin_purge(pattern, end, keep)

        def finish(count: int | None) -> None:
            if count is not None:
                self._purged(before if not pattern and not keep else 0)
                self.consumers.purged(pattern, 0 if before or keep else end)
            done(count)

        self._purges.run(begin, finish)

    def _purged(self, before: int) -> None:
        store = self.store
        if before > store.last_seq + 1:
            store.skip(before - 1 - store.last_seq)  # a purge may go beyond the end
        elif store.last_seq == 0 and store.first_seq == 0:
            store.start_at(1)
        self.shared.store.sync_next()
        self.shared.outbox.commit_soon()

    def delete(self, seq: int, erase: bool) -> None:
        self._check_open(self.config.deny_delete, 10057, "message delete not permitted")
        if self.store.remove(seq, erase) is None:
            raise self._not_there(seq)
        self.shared.store.sync_next()
        self.shared.outbox.commit_soon()
        self.consumers.announce()

    def _not_there(self, seq: int) -> ApiError:
        """A file store and a memory store of the real server put it differently."""
        if self.config.storage == "file":
            if seq < self.store.first_seq:
                return error(10057, err="no message found")
            if seq > self.store.last_seq:
                return error(10057, err="stream store EOF")
        return error(10043, seq=seq)

    def _check_open(self, denied: bool, code: int, text: str) -> None:
        if self.config.sealed:
            raise error(10109)
        if denied:
            raise error(code, err=text)
