"""A source's intake: messages get sequences and times of their new stream, and say where they come from.

How far each source has come is a record beside the messages (`Positions`), staged with them for the same
commit. The record of a source that was removed stays for a while: if it is added again it goes on where it
was.

The record names the origin by its identity, too. One that was deleted and made again is another origin
under the same name: it is taken from its beginning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import TYPE_CHECKING

import msgspec

from jetstream_py import headers as hdr
from jetstream_py import limits
from jetstream_py.engine import counter
from jetstream_py.engine.intake import Intake
from jetstream_py.engine.origin import EVERYTHING
from jetstream_py.store import Columns

if TYPE_CHECKING:
    from jetstream_py.engine.origin import Origin
    from jetstream_py.engine.stream import Stream


_DIGITS = 19  # of a sequence


def prefix(sid: int) -> bytes:
    """Of the keys of a stream's positions."""
    return b"o%08x" % sid


class Position(msgspec.Struct, array_like=True):
    """How far a source has come, and which of its messages was the last to be kept."""

    key: str
    seq: int = 0
    identity: str = ""
    kept: int = 0


def position_of(headers: bytes) -> Position | None:
    """What a copy says of where it comes from, with what versions before 2.15 leave out left empty."""
    words = (hdr.get(headers, hdr.STREAM_SOURCE) or b"").decode("utf-8", "replace").split(" ")
    if len(words) < 2 or not words[1].isdecimal() or len(words[1]) > _DIGITS:
        return None
    label, seq = words[0], int(words[1])
    taken = words[2:4] if len(words) >= 4 else [EVERYTHING, EVERYTHING]
    return Position(" ".join([label, *taken]), seq, words[5] if len(words) > 5 else "", seq)


_decode = msgspec.msgpack.Decoder(Position).decode
_encode = msgspec.msgpack.Encoder().encode


class Positions:
    """Of all sources that a stream has or had lately."""

    def __init__(self, stream: Stream) -> None:
        self._store = stream.shared.store
        self._kept = stream.config.storage == "file"
        self._prefix = prefix(stream.store.sid)
        self._known: dict[str, Position] = {}
        if self._kept:
            found = [_decode(value) for _, value in self._store.meta_items(self._prefix)]
            self._known = {position.key: position for position in found}

    def of(self, key: str) -> Position:
        return self._known.setdefault(key, Position(key))

    def resume(self, found: Collection[Position]) -> None:
        """The stream was restored, and its messages say how far its sources had come."""
        for position in found:
            at = self.of(position.key)
            at.seq, at.identity, at.kept = position.seq, position.identity, position.kept
            self.save(at)

    def save(self, position: Position) -> None:
        if self._kept:
            self._store.put_meta(self._record(position.key), _encode(position))

    def prune(self, used: Collection[str]) -> None:
        """Forget removed sources when they are too many."""
        if len(self._known) > len(used) + limits.REMOVED_SOURCES:
            self._forget([key for key in self._known if key not in used])

    def delete(self) -> None:
        """The stream is gone."""
        self._forget(list(self._known))

    def _forget(self, keys: list[str]) -> None:
        for key in keys:
            del self._known[key]
            if self._kept:
                self._store.put_meta(self._record(key), None)

    def _record(self, key: str) -> bytes:
        return self._prefix + hashlib.blake2b(key.encode(), digest_size=16).digest()


class SourceIntake(Intake):
    """See `Intake`."""

    def __init__(self, stream: Stream, origin: Origin, positions: Positions) -> None:
        super().__init__(stream, origin)
        self._positions = positions
        self._at = positions.of(origin.key)
        self._saved = self._at.seq

    @property
    def position(self) -> int:
        return self._at.seq

    @property
    def identity(self) -> str:
        return self._at.identity

    def meet(self, identity: str) -> None:
        if self._at.identity == identity:
            return
        if self._at.identity:  # else it was not known: a backup of an older server does not tell
            self._at.seq = self._at.kept = self._saved = 0
        self._at.identity = identity

    @property
    def shown(self) -> int:
        return self._at.kept

    def begin_after(self, seq: int) -> None:
        """Sequences are the stream's own: nothing to skip."""

    def _store(self, seq: int, ts: int, subject: bytes, headers: bytes, data: bytes) -> None:
        stream, origin = self._stream, self._origin
        headers = self._signed(headers, seq, subject)
        name = stream.renamed(origin.renamed(subject))
        if stream.config.allow_msg_counter:
            stored = stream.newest_counter(name)
            headers, data = counter.merge_source(*stored, origin.name, headers, data)
        stream.check_size(headers, data)
        msg_id = hdr.get(headers, hdr.MSG_ID) or b""
        if not (msg_id and stream.dedupe.find(msg_id, stream.shared.clock.now_ns())):
            rollup, ttl = self._wishes(headers)
            stream.keep(name, headers, data, msg_id, rollup, ttl)
            if stream.wants(name):
                self._at.kept = seq
        self._at.seq = seq

    def _copies(self, run: Columns) -> Columns:
        stream = self._stream
        first, now = stream.store.last_seq + 1, stream.shared.clock.now_ns()
        value = self._origin.source_form(self._at.identity.encode())
        alone = hdr.extend(b"", (hdr.STREAM_SOURCE, value))
        made = Columns()
        made.seqs, made.times = list(range(first, first + len(run))), [now] * len(run)
        made.subjects, made.datas = self._renamed(run), run.datas
        made.headers = [
            self._signed(headers, seq, subject) if headers else alone % (seq, subject)
            for seq, subject, headers in zip(run.seqs, run.subjects, run.headers, strict=True)
        ]
        return made

    def _took(self, seq: int) -> None:
        self._at.seq = self._at.kept = seq

    def _signed(self, headers: bytes, seq: int, subject: bytes) -> bytes:
        """With the header that names the origin; a copy of a copy names the last one only."""
        if headers and hdr.STREAM_SOURCE in headers:
            headers = hdr.without(headers, hdr.STREAM_SOURCE)
        value = self._origin.source_header(seq, subject, self._at.identity.encode())
        return hdr.extend(headers, (hdr.STREAM_SOURCE, value))

    def _settle(self) -> None:
        if self._at.seq != self._saved:
            self._saved = self._at.seq
            self._positions.save(self._at)
