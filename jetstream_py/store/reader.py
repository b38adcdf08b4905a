"""Reading blocks through the snapshot: columns, single records, whole blocks.

A single record is read directly (4 µs cold). Whoever walks through a block gets it decoded as a whole
and kept in the page cache; so does every freshly committed group, so readers at the tail never decode.
"""

from __future__ import annotations

from . import keys
from .block import Damaged, View, fat_length
from .checksum import Extend, unseal
from .columns import Columns
from .home import Home
from .summary import Block
from .types import Message

_HITS = 6  # single reads in a row from a block until it pays to decode it


class Reader:
    """Reads the blocks of one stream; every method may raise `Damaged`."""

    __slots__ = ("_hits", "_home", "_scanned", "_sid")

    def __init__(self, home: Home, sid: int) -> None:
        self._home = home
        self._sid = sid
        self._scanned: Block | None = None  # the block of the last `scan` ...
        self._hits = 0  # ... and how many there were

    def _value(self, block: Block) -> memoryview:
        home = self._home
        value = home.snapshot.get(keys.seq_key(self._sid, block.first), db=home.databases.blk)
        if value is None:
            raise Damaged("the block is missing")
        assert isinstance(value, memoryview)
        return value

    def view(self, block: Block) -> View:
        view = block.view
        if view is None:
            view = self._load(block, self._value(block))
        else:
            self._home.views.touch(block)
        return view

    def _load(self, block: Block, value: memoryview) -> View:
        view = open_view(value, block, self._home.extend)
        block.view = view
        self._home.views.add(block, view.heap_off * 2 + 500)
        return view

    def message(self, block: Block, i: int) -> Message:
        """Record `i`, read alone."""
        page = block.page
        if page is not None:
            return page.message(i)
        value = self._value(block)
        view = block.view
        if view is None:
            view = self._load(block, value)
        record = view.record(value, i)
        if block.fat:
            record = self._fat(view.seq(i), record)
        return view.message(i, record)

    def scan(self, block: Block, i: int) -> Message:
        """Record `i` for someone who will want the next ones, too."""
        if self._scanned is not block:
            self._scanned, self._hits = block, 0
        self._hits += 1
        if block.page is None and self._hits > _HITS and not block.fat:
            self._decode(block)
        return self.message(block, i)

    def headers(self, block: Block, i: int) -> Message:
        """`scan` for someone who wants no payload: of a fat record only the first part is read."""
        if not block.fat:
            return self.scan(block, i)
        view = self.view(block)
        cut, seq = view.header_len(i), view.seq(i)
        return Message(seq, view.ts(i), view.subject(i), self._part(seq, 0)[:cut], b"")

    def page(self, block: Block) -> Columns | None:
        """All records, decoded; None when they must be read one by one (large or damaged)."""
        if block.page is None and not block.fat:
            try:
                self._decode(block)
            except Damaged:
                return None
        return block.page

    def _decode(self, block: Block) -> None:
        value = self._value(block)
        view = block.view
        if view is None:
            view = self._load(block, value)
        block.page = view.columns(value)
        self._home.pages.add(block, block.size + 200 * block.n)

    def _fat(self, seq: int, stub: bytes) -> bytes:
        length, count = fat_length(stub)
        record = b"".join([self._part(seq, part) for part in range(count)])
        if len(record) != length:
            raise Damaged("parts of the message are missing")
        return record

    def _part(self, seq: int, part: int) -> bytes:
        home = self._home
        value = home.snapshot.get(keys.part_key(self._sid, seq, part), db=home.databases.fat)
        body = None if value is None else unseal(home.extend, bytes(value))
        if body is None:
            raise Damaged("a part of the message is missing or damaged")
        return body


def open_view(value: memoryview, block: Block, extend: Extend) -> View:
    """The columns of a block's value; raises `Damaged` when they do not belong to the entry."""
    size = len(value)
    start = int.from_bytes(value[12:16], "little") if size >= 40 else 0
    if not 40 < start < size:
        raise Damaged("the block's head is damaged")
    view = View(bytes(value[:start]), extend)
    if view.first != block.first or view.n != block.n:
        raise Damaged("another block is in its place")
    return view
