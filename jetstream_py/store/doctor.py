"""Damage: records whose checksum does not hold are reported and die, their neighbours live.

A damaged block is kept for a doctor. When its columns are damaged nobody can say whose messages it held, so
the subjects are counted anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .block import Damaged, View
from .summary import Block
from .types import Message

if TYPE_CHECKING:
    from .file_stream import FileStream


class Doctor:
    """Reads of one stream that find damage, and what it means."""

    __slots__ = ("_stream",)

    def __init__(self, stream: FileStream) -> None:
        self._stream = stream

    def read(self, block: Block, i: int, how: Callable[[Block, int], Message]) -> Message | None:
        """A record, or None when it is damaged: then it is reported and counts as removed."""
        stream = self._stream
        try:
            return how(block, i)
        except Damaged as error:
            if self.view(block) is not None:
                try:
                    return stream.reader.message(block, i)  # another record of the block is damaged
                except Damaged:
                    self.lose(block, [i], str(error))
            return None

    def view(self, block: Block) -> View | None:
        """A block's columns, or None when they are damaged: then the block is reported and lost."""
        stream = self._stream
        try:
            return stream.reader.view(block)
        except Damaged as error:
            self.lose(block, None, str(error))
            return None

    def lose(self, block: Block, positions: list[int] | None, why: str) -> None:
        """Records are damaged. They die, the block is kept for a doctor, its neighbours live."""
        stream = self._stream
        block.bad = True
        if positions is None:
            self._lose_all(block, why)
            if not stream.ready:
                return
        else:
            view = block.view
            assert view is not None
            for i in positions:
                if block.dead is None or not block.dead[i]:
                    seq = view.seq(i)
                    stream.home.complain(f"stream {stream.sid}, message {seq}: {why}")
                    size = block.live_bytes if block.fat else view.size(i)
                    stream.kill(block, i, seq, view.subject(i), size)
        if stream.messages == 0 or not stream.is_live(stream.first_seq):
            stream.settle()
        stream.touch()

    def _lose_all(self, block: Block, why: str) -> None:
        """Nobody can say whose messages these were, so the subjects are counted anew."""
        stream = self._stream
        if not block.live:
            return
        text = f"stream {stream.sid}, messages {block.first} to {block.last}: {why}"
        stream.home.complain(text, block.live)
        if stream.ready:
            stream.messages -= block.live
            stream.bytes -= block.live_bytes
            stream.garbage += block.live_bytes
        block.dead = bytearray(b"\1") * block.n
        block.live = block.live_bytes = 0
        block.dirty = True
        if stream.ready:
            self.count_anew()

    def count_anew(self) -> None:
        """Make the subject table from the blocks; what is on disk about it is worthless."""
        stream = self._stream
        stream.table.clear()
        stream.queues.clear()
        for block in list(stream.directory.blocks):
            view = self.view(block) if block.live else None
            if view is not None:
                for i in stream.directory.live_positions(block):
                    stream.table.add(view.subject(i), view.seq(i))
        for message in stream.tail.since(0):
            stream.table.add(message.subject, message.seq)
        stream.checkpointer.anew = True
        stream.touch()
