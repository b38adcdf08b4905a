"""Immutable streams: every message is hashed together with the hash of the one before it.

    hash(n) = sha256(hash(n - 1) + sequence + time + three lengths + subject + headers + payload)

Numbers are big-endian: sequence and time (ns) 8 bytes each, the lengths 4 bytes each. The hash before the
first message is 32 zero bytes, so the same messages give the same hashes wherever they are restored. Whoever
keeps the hash of one message can tell later whether anything up to that message was changed, added or taken
away.

Publishes know nothing of it. When a commit begins the chain is continued with everything that is staged, read
back as columns, and what is new of it becomes durable with the messages. What is stored is the head, and a
mark for each 256 messages: its hash, and two bytes of the hash of each message. So a break is found to the
message (once in 65,536 times one message late), a proof begins at the next mark, and the store, which keeps
its records in memory, pays about 3 bytes a message.

A stream that was just restored, or whose last commit came past the engine, is behind: it catches up in
slices.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from jetstream_py import limits
from jetstream_py.api.extensions import is_immutable
from jetstream_py.api.types import StreamConfig

if TYPE_CHECKING:
    from jetstream_py.engine.stream import Stream
    from jetstream_py.store import Columns, StreamStore

START: Final = bytes(32)
MARK: Final = 256  # messages from mark to mark
TAG: Final = 2  # bytes of each message's hash in a mark
_numbers = struct.Struct(">QQIII").pack
_HEAD: Final = b"head"


class Head(msgspec.Struct, array_like=True, frozen=True):
    """Where a chain ends."""

    seq: int = 0
    hash: bytes = START
    tags: bytes = b""  # of the messages since the last mark

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash.hex()}"


class Proof(NamedTuple):
    """What shows that messages `first` to `last` are part of a chain: hashed from `before` on they give
    `after`, and those that follow lead to `head`."""

    first: int
    last: int
    before: bytes
    after: bytes
    head: Head


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Head).decode


def prefix(sid: int) -> bytes:
    """Of the keys of a stream's chain."""
    return b"h%08x" % sid


def hashes(before: bytes, run: Columns) -> list[bytes]:
    """Of messages in order, that of the message before them given."""
    found = []
    columns = zip(run.seqs, run.times, run.subjects, run.headers, run.datas, strict=True)
    for seq, ts, subject, headers, data in columns:
        numbers = _numbers(seq, ts, len(subject), len(headers), len(data))
        before = sha256(b"".join((before, numbers, subject, headers, data))).digest()
        found.append(before)
    return found


class Chain:
    """The chain of one stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._store = stream.store
        self._shared = stream.shared
        self._prefix = prefix(stream.store.sid)
        records = self._shared.store.meta_items(self._prefix)
        self._marks = [mark for key, _ in records if (mark := _marked(self._prefix, key))]
        raw = self._shared.store.get_meta(self._prefix + _HEAD)
        self._head = _decode(raw) if raw is not None else Head()
        self._shared.chains.append(self)
        self._behind = self._head.seq < self._store.last_seq
        if self._behind:
            self._shared.after_commit(self._catch_up)

    def close(self, deleted: bool) -> None:
        self._shared.chains.remove(self)
        if deleted:
            for key, _ in self._shared.store.meta_items(self._prefix):
                self._shared.store.put_meta(key, None)
        else:
            self.extend()

    @property
    def head(self) -> Head:
        """As of now; what is staged becomes durable with the messages."""
        self.extend()
        return self._head

    def extend(self) -> None:
        """Continue with what was stored since."""
        store, before = self._store, self._head
        if before.seq >= store.last_seq:
            return
        most = limits.CHAIN_SLICE if self._behind else max(store.messages, 1)
        while most > 0 and (run := store.run(self._head.seq + 1, most, b"", store.last_seq)):
            self._take(run)
            most -= len(run)
        if self._behind:
            self._behind = most <= 0
        if self._head is not before:
            self._shared.store.put_meta(self._prefix + _HEAD, _encode(self._head))

    def _catch_up(self) -> None:
        if self._behind and not self._stream.closed:
            self._shared.after_commit(self._catch_up)

    def _take(self, run: Columns) -> None:
        new = hashes(self._head.hash, run)
        tags, at = self._head.tags, 0
        while at < len(new):
            part = new[at : at + MARK - len(tags) // TAG]
            tags += b"".join([each[:TAG] for each in part])
            at += len(part)
            if len(tags) == MARK * TAG:
                seq = run.seqs[at - 1]
                self._shared.store.put_meta(self._prefix + b"%016x" % seq, part[-1] + tags)
                self._marks.append(seq)
                tags = b""
        self._head = Head(run.seqs[-1], new[-1], tags)

    def at(self, seq: int) -> bytes:
        """The hash of the last message up to `seq`."""
        found = bisect_right(self._marks, seq)
        mark, before = 0, START
        if found:
            mark = self._marks[found - 1]
            before = (self._shared.store.get_meta(self._prefix + b"%016x" % mark) or START)[:32]
        run = self._store.run(mark + 1, MARK, b"", min(seq, self._store.last_seq))
        while run:
            before = hashes(before, run)[-1]
            run = self._store.run(run.seqs[-1] + 1, MARK, b"", min(seq, self._store.last_seq))
        return before


def proof(stream: Stream, first: int, last: int) -> Proof | None:
    """For whoever takes messages `first` to `last` elsewhere; None if the stream is not immutable."""
    chain = stream.chain
    if chain is None:
        return None
    return Proof(first, last, chain.at(first - 1), chain.at(last), chain.head)


def _marked(start: bytes, key: bytes) -> int:
    """The sequence of a mark, 0 for the head."""
    return 0 if key == start + _HEAD else int(key[len(start) :], 16)


# -- without a server ------------------------------------------------------------------------------


class _Record(msgspec.Struct):
    """What is asked of a stream's record here."""

    config: StreamConfig


class Inspection:
    """Chains of a store that nobody uses, hashed again. `heads` are those that hold."""

    def __init__(self) -> None:
        self.heads: list[str] = []

    def __call__(self, raw: bytes, store: StreamStore, records: Mapping[bytes, bytes]) -> list[str]:
        """Complaints about one stream."""
        config = msgspec.json.decode(raw, type=_Record).config
        if not is_immutable(config.metadata):
            return []
        head, fault = _walk(store, records)
        if fault:
            return [f"{config.name}: {fault}"]
        self.heads.append(f"{config.name}: {head}")
        return []


def _walk(store: StreamStore, records: Mapping[bytes, bytes]) -> tuple[Head, str]:
    """The head that is stored, and what is wrong with the way to it."""
    start = prefix(store.sid)
    raw = records.get(start + _HEAD)
    head = _decode(raw) if raw is not None else Head()
    own = sorted(key for key in records if key.startswith(start) and key != start + _HEAD)
    stretches = [(_marked(start, key), records[key][32:], records[key][:32]) for key in own]
    stretches.append((head.seq, head.tags, head.hash))
    before, seq = START, 1
    for last, tags, expected in stretches:
        got: list[bytes] = []
        while run := store.run(seq, MARK, b"", last):
            new = hashes(got[-1] if got else before, run)
            for number, each in zip(run.seqs, new, strict=True):
                if each[:TAG] != tags[TAG * len(got) : TAG * len(got) + TAG]:
                    return head, f"the chain of hashes breaks at message {number}"
                got.append(each)
            seq = run.seqs[-1] + 1
        if len(got) * TAG < len(tags):
            return head, f"the chain of hashes breaks after message {seq - 1}: messages are missing"
        before = got[-1] if got else before
        if before != expected:
            return head, f"the chain of hashes breaks at or before message {last}"
        seq = last + 1
    if store.run(seq, 1, b"", store.last_seq):
        return head, f"messages after {head.seq} are not part of the chain"
    return head, ""
