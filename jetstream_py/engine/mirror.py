"""A mirror's intake: messages keep their sequences and their times.

The stream's own last sequence is the position, so nothing more needs to be remembered. What the origin has
deleted, or what a filter leaves out, becomes a gap. The origin may be deleted and made again: a mirror does
not look, it goes on with the sequence that follows.
"""

from __future__ import annotations

from jetstream_py import headers as hdr
from jetstream_py.engine.intake import Intake
from jetstream_py.engine.origin import Place
from jetstream_py.store import Columns


class MirrorIntake(Intake):
    """See `Intake`."""

    @property
    def position(self) -> int:
        return self._stream.store.last_seq

    def meet(self, identity: str) -> None:
        """Any will do."""

    def begin_after(self, seq: int) -> None:
        store = self._stream.store
        if seq > store.last_seq:
            if store.last_seq:
                store.skip(seq - store.last_seq)
            else:
                store.start_at(seq + 1)
            self._stream.shared.outbox.commit_soon()

    def _store(self, seq: int, ts: int, subject: bytes, headers: bytes, data: bytes) -> None:
        stream = self._stream
        stream.check_size(headers, data)
        rollup, ttl = self._wishes(headers)
        msg_id = (hdr.get(headers, hdr.MSG_ID) or b"") if headers else b""
        name = stream.renamed(self._origin.renamed(subject))
        stream.keep(name, headers, data, msg_id, rollup, ttl, at=Place(seq, ts))

    def _copies(self, run: Columns) -> Columns:
        made = Columns()
        made.seqs, made.times, made.subjects = run.seqs, run.times, self._renamed(run)
        made.headers, made.datas = run.headers, run.datas
        return made

    def _took(self, seq: int) -> None:
        """It is the last sequence of the stream."""

    def _settle(self) -> None:
        """It is the last sequence of the stream."""
