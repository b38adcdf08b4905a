"""Walks through a stream: newest and oldest matches, counts from the middle, gaps, times.

Each walks block by block and asks `Search` about each; blocks that cannot matter are passed without
being opened.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jetstream_py import limits

from .columns import Columns
from .subjects import Filter
from .summary import Block
from .trail import Trails
from .types import Message

if TYPE_CHECKING:
    from .file_stream import FileStream

NOTHING = Columns()
PAGE_WORTH = 6  # records of a block from which on it pays to decode it as a whole


class Scan:
    """Long reads of one stream."""

    __slots__ = ("_stream", "trails")

    def __init__(self, stream: FileStream) -> None:
        self._stream = stream
        self.trails = Trails(stream)

    def first(self, seq: int, wanted: Filter | None) -> int | None:
        """The first live match at or after `seq`."""
        stream = self._stream
        directory = stream.directory
        for block in self.trails.blocks(seq, wanted):
            i = stream.search.first(block, directory.position(block, seq), wanted)
            if i >= 0:
                return directory.seq(block, i)
        message = stream.tail.first(seq, wanted)
        return None if message is None else message.seq

    def run(self, seq: int, most: int, wanted: Filter | None, up_to: int) -> Columns:
        """The first live matches from `seq` to `up_to`, at most so many."""
        stream = self._stream
        directory = stream.directory
        found, own = NOTHING, False
        for block in self.trails.blocks(seq, wanted):
            if block.first > up_to:
                break
            start = directory.position(block, seq) if block.first < seq else 0
            part = self._run_in(block, start, most - len(found), wanted)
            if not len(found):
                found = part  # perhaps a block's own columns: not to be changed
            elif own:
                found.join(part)
            else:
                found, own = found.joined(part), True
            if len(found) == most:
                break
        if len(found) and found.seqs[-1] > up_to:
            return found.part(0, found.position(up_to + 1))
        if len(found) < most:
            behind = stream.tail.run(seq, most - len(found), wanted, up_to)
            if not len(found):
                return behind
            found = found.joined(behind) if len(behind) else found
        return found

    def _run_in(self, block: Block, start: int, most: int, wanted: Filter | None) -> Columns:
        stream = self._stream
        mask = stream.search.mask(block, wanted)
        if mask is None and block.dead is None:
            page = stream.reader.page(block)
            if page is not None:
                return page.part(start, min(start + most, len(page)))
        positions: list[int] = []
        i = stream.search.first(block, start, wanted)
        while i >= 0 and len(positions) < most:
            positions.append(i)
            i = stream.search.first(block, i + 1, wanted)
        page = stream.reader.page(block) if len(positions) > PAGE_WORTH else block.page
        if page is not None:
            return page.picked(positions)
        read = [stream.read(block, position, stream.reader.message) for position in positions]
        whole = [message for message in read if message is not None]
        while i >= 0 and len(whole) < most:  # some are damaged: others of this block are next
            message = stream.read(block, i, stream.reader.message)
            if message is not None:
                whole.append(message)
            i = stream.search.first(block, i + 1, wanted)
        return Columns.of(whole)

    def last(self, up_to: int, wanted: Filter | None) -> int:
        """The newest live match not above `up_to`, 0 if there is none."""
        stream = self._stream
        found = stream.tail.last(up_to, wanted)
        if found:
            return found
        directory = stream.directory
        blocks = directory.blocks
        for k in range(min(directory.at(up_to), len(blocks) - 1), -1, -1):
            block = blocks[k]
            if block.live and block.first <= up_to:
                end = block.n if block.last <= up_to else directory.position(block, up_to + 1)
                i = stream.search.last(block, end, wanted)
                if i >= 0:
                    return directory.seq(block, i)
        return 0

    def seqs_of(self, subject: bytes, count: int) -> list[int]:
        """The oldest live sequences of a subject."""
        stream = self._stream
        wanted = stream.table.filter(subject)
        most = min(count, limits.OLDEST_BATCH)
        found: list[int] = []
        seq: int | None = stream.first_seq
        while seq is not None and len(found) < most:
            seq = self.first(seq, wanted)
            if seq is not None:
                found.append(seq)
                seq += 1
        return found

    def count(self, since: int, wanted: Filter | None) -> int:
        stream = self._stream
        directory = stream.directory
        total = 0
        for block in self.trails.blocks(since, wanted):
            total += stream.search.count(block, directory.position(block, since), wanted)
        return total + stream.tail.count(since, wanted)

    def keep_from(self, end: int, keep: int) -> int:
        """Where the newest `keep` messages below `end` begin; 0 when there are no more than that."""
        stream = self._stream
        directory = stream.directory
        staged = stream.tail.upto(end)
        if len(staged) >= keep:
            return staged[-keep].seq
        keep -= len(staged)
        for block in reversed(directory.blocks[: directory.at(end - 1) + 1]):
            if not block.live or block.first >= end:
                continue
            whole = block.last < end
            if whole and block.live < keep:
                keep -= block.live
                continue
            below = block.n if whole else directory.position(block, end)
            live = [i for i in directory.live_positions(block) if i < below]
            if len(live) >= keep:
                return directory.seq(block, live[-keep])
            keep -= len(live)
        return 0

    def end_of_excess(self, messages: int, bytes_: int) -> int:
        """Behind the oldest ones that are too many, when so many messages and bytes may stay."""
        stream = self._stream
        directory = stream.directory
        count, size, end = stream.messages - messages, stream.bytes - bytes_, 0
        for block in directory.blocks[directory.at(stream.first_seq) :]:
            if count <= 0 and size <= 0:
                return end
            if count >= block.live or size >= block.live_bytes or block.live == 1:
                count, size, end = count - block.live, size - block.live_bytes, block.last + 1
                continue
            view = stream.view(block)
            if view is None:
                return self.end_of_excess(messages, bytes_)  # it is lost, and no longer counts
            for i in directory.live_positions(block, block.dead.find(0) if block.dead else 0):
                if count <= 0 and size <= 0:
                    return end
                count, size, end = count - 1, size - view.size(i), view.seq(i) + 1
        for message in stream.tail.since(0):
            if count <= 0 and size <= 0:
                break
            count, end = count - 1, message.seq + 1
            size -= stream.size(message.subject, message.headers, message.data)
        return end

    def seq_at(self, ts: int) -> int:
        stream = self._stream
        blocks = stream.directory.blocks
        for k in range(bisect_left(blocks, ts, key=lambda block: block.ts_last), len(blocks)):
            block = blocks[k]
            view = stream.view(block) if block.live else None
            if view is not None:
                for i in stream.directory.live_positions(block):
                    if view.ts(i) >= ts:
                        return view.seq(i)
        for message in stream.tail.since(0):
            if message.ts >= ts:
                return message.seq
        return stream.last_seq + 1

    def deleted(self) -> list[int]:
        stream = self._stream
        if not stream.messages:
            return []
        gone: list[int] = []
        expected = stream.first_seq
        for block in stream.directory.blocks:
            if not block.live or block.last < expected:
                continue
            if block.dead is None and not block.gaps:
                gone.extend(range(expected, block.first))
                expected = block.last + 1
                continue
            for i in stream.directory.live_positions(block):
                seq = stream.directory.seq(block, i)
                if seq >= expected:
                    gone.extend(range(expected, seq))
                    expected = seq + 1
        for message in stream.tail.since(0):
            gone.extend(range(expected, message.seq))
            expected = message.seq + 1
        gone.extend(range(expected, stream.last_seq + 1))
        return gone

    def with_headers(self, seq: int, up_to: int, since_ts: int = 0) -> Iterator[Message]:
        """Block by block, and found anew after each: commits may come in between."""
        stream = self._stream
        while (k := stream.directory.at(seq)) < len(stream.directory.blocks):
            block = stream.directory.blocks[k]
            if block.first > up_to:
                return
            wanted = block.live and block.headers
            found = self._headers_in(block, seq, up_to, since_ts) if wanted else []
            seq = max(seq, block.last) + 1
            yield from found
        for message in list(stream.tail.since(seq)):
            if message.headers and message.ts >= since_ts and message.seq <= up_to:
                yield message

    def _headers_in(self, block: Block, seq: int, up_to: int, since_ts: int) -> list[Message]:
        stream = self._stream
        view = stream.view(block)
        if view is None:
            return []
        positions = stream.directory.live_positions(block)
        wanted = [i for i in positions if view.header_len(i) and view.ts(i) >= since_ts]
        if block.first < seq or block.last > up_to:
            wanted = [i for i in wanted if seq <= view.seq(i) <= up_to]
        found = [stream.read(block, i, stream.reader.headers) for i in wanted]
        return [message for message in found if message is not None]
