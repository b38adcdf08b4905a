"""What is checked when an atomic batch is committed, message by message.

Each message is held against the stream as it would be with those before it. That is kept as the difference
to the stream as it is: which subjects have messages of the batch, which ids, how many there are, how many
bytes. What this cannot tell is refused: an expectation about a subject that the batch itself has written
to, or about the last sequence behind its first message, and a rollup of what the batch has just brought.

The order of the checks is nats-server's for batches, which is not the one for single messages.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from jetstream_py import headers as hdr
from jetstream_py.api.errors import error
from jetstream_py.engine import counter
from jetstream_py.engine.counter import check_increment
from jetstream_py.engine.expect import Fields, expected_number, rollup_of, wrong_last
from jetstream_py.engine.schedule import check_end, check_schedule
from jetstream_py.engine.ttl import parse_ttl

if TYPE_CHECKING:
    from jetstream_py.engine.stream import Stream


class Planned(NamedTuple):
    """A message that has passed, as `Stream.place` takes it."""

    subject: bytes
    headers: bytes
    data: bytes
    msg_id: bytes
    rollup: bytes
    ttl: int
    due: int | None  # when it is a schedule
    ends: bytes  # the schedule that it ends


class Draft:
    """The stream with those messages of a batch that have passed."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._subjects: Counter[bytes] = Counter()
        self._newest: dict[bytes, tuple[bytes, bytes]] = {}  # headers and payload by subject
        self._ids: set[bytes] = set()
        self._count = 0
        self._size = 0

    def add(self, subject: bytes, headers: bytes, data: bytes) -> Planned:
        """Check the next message."""
        fields = hdr.fields(headers)
        if fields.get(hdr.EXPECTED_LAST_MSG_ID):
            raise error(10177, header=hdr.EXPECTED_LAST_MSG_ID.decode())
        stream = self._stream
        stream.check_size(headers, data)
        ttl = self._check_kind(fields, data)
        msg_id = self._check_id(fields)
        if fields.get(hdr.STREAM_SOURCE):
            raise error(10227)
        if stream.config.allow_msg_counter:
            headers, data = self._counted(subject, headers)
        self._check_expectations(subject, fields)
        due = check_schedule(stream, subject, fields)
        check_end(stream, subject, fields, self._newest)
        if due is not None and not fields.get(hdr.ROLLUP):
            headers = hdr.extend(headers, (hdr.ROLLUP, b"sub"))
            stream.check_size(headers, data)
            fields = hdr.fields(headers)
        rollup = self._rollup(subject, fields)
        if ttl:
            headers, ttl = stream.expiry.raised(headers, ttl)
        planned = Planned(subject, headers, data, msg_id, rollup, ttl, due, stream.ends(fields))
        self._note(planned)
        self._check_discard_new(subject, bool(rollup))
        return planned

    def _note(self, planned: Planned) -> None:
        subject, headers, data = planned[:3]
        if planned.msg_id:
            self._ids.add(planned.msg_id)
        self._subjects[subject] += 1
        self._newest[subject] = headers, data
        self._count += 1
        self._size += self._stream.store.size(subject, headers, data)

    def check_room(self) -> None:
        """Is there room for all of them?"""
        stream, size = self._stream, self._size
        quota = stream.shared.quota
        counts = quota.counts[stream.config.storage]
        if counts:
            quota.check_server(stream, size)
        if not stream.shared.store.room(size):
            raise error(10023)
        if counts:
            quota.check_account(stream, size)

    def _check_kind(self, fields: Fields, data: bytes) -> int:
        """Is it a message for this stream? Returns its TTL."""
        config = self._stream.config
        check_increment(config, fields, data)
        expected = fields.get(hdr.EXPECTED_STREAM)
        if expected and expected != config.name.encode():
            raise error(10060)
        value = fields.get(hdr.TTL)
        ttl = parse_ttl(value) if value else 0
        if ttl != 0 and not config.allow_msg_ttl:
            raise error(10166)
        if ttl is None:
            raise error(10165)
        return ttl

    def _check_id(self, fields: Fields) -> bytes:
        stream, msg_id = self._stream, fields.get(hdr.MSG_ID, b"")
        if msg_id and (
            msg_id in self._ids or stream.dedupe.find(msg_id, stream.shared.clock.now_ns())
        ):
            raise error(10201)
        return msg_id

    def _counted(self, subject: bytes, headers: bytes) -> tuple[bytes, bytes]:
        """Headers and payload of a counter's message."""
        last = self._newest.get(subject)
        if last is None and (stored := self._stream.store.newest(subject)) is not None:
            last = stored.headers, stored.data
        headers, data, _ = counter.add(*(last or (b"", b"")), headers)
        self._stream.check_size(headers, data)
        return headers, data

    def _check_expectations(self, subject: bytes, fields: Fields) -> None:
        store = self._stream.store
        expected = fields.get(hdr.EXPECTED_LAST_SEQ)
        if expected:
            last = store.last_seq + self._count
            if expected_number(expected) != last:
                raise wrong_last(expected, last)
            if self._count:
                raise error(10164)
        expected = fields.get(hdr.EXPECTED_LAST_SUBJECT_SEQ)
        other = fields.get(hdr.EXPECTED_LAST_SUBJECT_SEQ_SUBJECT)
        if expected:
            about = other or subject
            if about in self._subjects:
                raise error(10164)
            if expected_number(expected) != (last := store.last(about)):
                raise wrong_last(expected, last, " by subject")
        elif other:
            raise error(10193)

    def _rollup(self, subject: bytes, fields: Fields) -> bytes:
        rollup = rollup_of(self._stream.config, fields)
        if rollup == b"sub" and subject in self._subjects:
            raise error(10111, err="batch rollup sub invalid")
        if rollup == b"all" and self._count:
            raise error(10111, err="batch rollup all invalid")
        return rollup

    def _check_discard_new(self, subject: bytes, rollup: bool) -> None:
        """Unlike a single message, one of a batch does not count as taking the place of an old one."""
        config, store = self._stream.config, self._stream.store
        if config.discard != "new":
            return
        if config.discard_new_per_subject and not rollup:
            most = config.max_msgs_per_subject
            if 0 < most < store.count(subject) + self._subjects[subject]:
                raise error(10077, err="maximum messages per subject exceeded")
        if 0 < config.max_msgs < store.messages + self._count:
            raise error(10077, err="maximum messages exceeded")
        if 0 < config.max_bytes < store.bytes + self._size:
            raise error(10077, err="maximum bytes exceeded")
