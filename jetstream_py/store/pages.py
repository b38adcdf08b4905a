"""LMDB's file, page by page, as far as two jobs need it: is it whole, and what in it is unused?

The library tells neither. A file that is shorter than its last page ends the process with SIGBUS at the
first touch beyond its end, so it is measured before it is opened. And unused bytes keep what was in them:
pages that were freed, the gap between pointers and nodes in a page of a tree, the rest of a page behind a
value. A message that is to be erased is erased there, too (`scrub`).

Layout (0.9, 64 bits, the byte order of the machine): each page begins with its number, its kind and, for
trees, where the gap begins and ends. Pages 0 and 1 are the two latest versions of the root record; the
higher transaction number counts. Of its two trees the first lists free pages: key is the transaction that
freed them, value a count and the page numbers. The second has the named databases, each a tree record.
Everything read here is checked for sense before it is followed.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

_MAGIC: Final = 0xBEEFC0DE
_VERSION: Final = 1
_HEAD: Final = struct.Struct("=QHHHH")  # page number, pad, flags, begin and end of the gap
_META: Final = struct.Struct("=IIQQ")  # magic, version, address, map size; then two trees
_TREE: Final = struct.Struct("=IHHQQQQQ")  # page size or pad, flags, depth, 4 counters, root
_TAIL: Final = struct.Struct("=QQ")  # last page, transaction
_NODE: Final = struct.Struct("=HHHH")  # low and high half of a size, flags, length of the key
_NUMBER: Final = struct.Struct("=Q")
_RECORD: Final = _HEAD.size + _META.size + 2 * _TREE.size + _TAIL.size
_BRANCH, _LEAF, _OVERFLOW = 0x01, 0x02, 0x04
_BIG, _NESTED = 0x01, 0x02  # a node's value is in pages of its own, or is a tree record
_NOWHERE: Final = (1 << 64) - 1
_DEEPEST: Final = 32


class PageError(Exception):
    """The file is not what LMDB writes."""


class Node(NamedTuple):
    """A key in a leaf and where its value is."""

    key: bytes
    flags: int
    size: int
    value: bytes  # or the number of its first page


class Pages:
    """The latest version of an LMDB file. Raises `PageError` when it makes no sense."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        first = _record(fd, 0)
        found = [first, _record(fd, first[0] if first is not None else os.sysconf("SC_PAGESIZE"))]
        roots = [root for root in found if root is not None]
        if not roots:
            raise PageError("it has no valid root record")
        self.page_size, self.last_page, self.txn, self._free, self._main = max(
            roots, key=lambda root: root[2]
        )
        self.length = (self.last_page + 1) * self.page_size  # what the file needs at least

    def freed_since(self, txn: int) -> Iterator[list[int]]:
        """Free pages that later transactions than `txn` freed, in lists."""
        for node in self._nodes(self._free):
            if len(node.key) != 8:
                raise PageError("a list of free pages is damaged")
            if _NUMBER.unpack(node.key)[0] > txn:
                yield self._numbers(self._value(node))

    def slack(self) -> Iterator[tuple[int, bytes]]:
        """Bytes in pages in use that belong to nothing, and where they are."""
        roots = [self._free, self._main]
        while roots:
            for number, page in self._tree(roots.pop()):
                _, _, kind, gap, end = _HEAD.unpack_from(page)
                yield number * self.page_size + gap, page[gap:end]
                if not kind & _LEAF:
                    continue
                for offset in _pointers(page, self.page_size):
                    flags = _NODE.unpack_from(page, offset)[2]
                    if not flags:
                        continue  # most of them, and there are many
                    node = self._node(page, offset)
                    if flags & _NESTED:
                        roots.append(_TREE.unpack(node.value)[7])
                    elif flags & _BIG and _HEAD.size + node.size < self.page_size:
                        # A longer value's last page is made of zeros before it is filled.
                        at = _NUMBER.unpack(node.value)[0] * self.page_size + _HEAD.size + node.size
                        yield at, os.pread(self._fd, -at % self.page_size, at)

    # -- trees -------------------------------------------------------------------------------------
    def _tree(self, root: int, depth: int = 0) -> Iterator[tuple[int, bytes]]:
        """All pages of a tree with their numbers."""
        if root == _NOWHERE:
            return
        page = self._page(root)
        flags, gap, end = _HEAD.unpack_from(page)[2:]
        if depth > _DEEPEST or flags & (_BRANCH | _LEAF) not in (_BRANCH, _LEAF):
            raise PageError(f"page {root} is no part of a tree")
        if not _HEAD.size <= gap <= end <= self.page_size:
            raise PageError(f"page {root} has no sound gap")
        yield root, page
        if flags & _BRANCH:
            for offset in _pointers(page, self.page_size):
                low, high, top, _ = _NODE.unpack_from(page, offset)
                yield from self._tree(low | high << 16 | top << 32, depth + 1)

    def _nodes(self, root: int) -> Iterator[Node]:
        for _, page in self._tree(root):
            if _HEAD.unpack_from(page)[2] & _LEAF:
                for offset in _pointers(page, self.page_size):
                    yield self._node(page, offset)

    def _node(self, page: bytes, offset: int) -> Node:
        low, high, flags, length = _NODE.unpack_from(page, offset)
        start = offset + _NODE.size + length
        size = low | high << 16
        end = start + (_NUMBER.size if flags & _BIG else size)
        if end > self.page_size:
            raise PageError("a node reaches beyond its page")
        return Node(page[offset + _NODE.size : start], flags, size, page[start:end])

    def _page(self, number: int) -> bytes:
        if not 2 <= number <= self.last_page:
            raise PageError(f"there is no page {number}")
        page = os.pread(self._fd, self.page_size, number * self.page_size)
        if len(page) != self.page_size or _NUMBER.unpack_from(page)[0] != number:
            raise PageError(f"page {number} is not where it belongs")
        return page

    def _value(self, node: Node) -> bytes:
        if not node.flags & _BIG:
            return node.value
        number: int = _NUMBER.unpack(node.value)[0]
        if not _HEAD.unpack_from(self._page(number))[2] & _OVERFLOW:
            raise PageError(f"page {number} holds no value")
        return os.pread(self._fd, node.size, number * self.page_size + _HEAD.size)

    def _numbers(self, value: bytes) -> list[int]:
        count = _NUMBER.unpack_from(value)[0] if len(value) >= 8 else 1 << 62
        if len(value) < 8 * (count + 1):
            raise PageError("a list of free pages is too short")
        numbers = list(struct.unpack_from(f"={count}Q", value, 8))
        if numbers and not 2 <= min(numbers) <= max(numbers) <= self.last_page:
            raise PageError("a list of free pages names what is not there")
        return numbers


def _record(fd: int, at: int) -> tuple[int, int, int, int, int] | None:
    """Page size, last page, transaction and the roots of both trees."""
    data = os.pread(fd, _RECORD, at)
    if len(data) < _RECORD:
        return None
    magic, version, _, _ = _META.unpack_from(data, _HEAD.size)
    free = _TREE.unpack_from(data, _HEAD.size + _META.size)
    main = _TREE.unpack_from(data, _HEAD.size + _META.size + _TREE.size)
    last, txn = _TAIL.unpack_from(data, _RECORD - _TAIL.size)
    page_size = free[0]
    if magic != _MAGIC or version != _VERSION or page_size & (page_size - 1) or page_size < 512:
        return None
    return page_size, last, txn, free[7], main[7]


def _pointers(page: bytes, page_size: int) -> tuple[int, ...]:
    gap = _HEAD.unpack_from(page)[3]
    offsets = struct.unpack_from(f"={(gap - _HEAD.size) >> 1}H", page, _HEAD.size)
    if offsets and not _HEAD.size <= min(offsets) <= max(offsets) <= page_size - _NODE.size:
        raise PageError("a page has a pointer to nowhere")
    return offsets


def missing_bytes(file: str) -> int:
    """How much shorter the file is than what it says of itself; 0: it is whole."""
    fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return max(0, Pages(fd).length - os.fstat(fd).st_size)
    finally:
        os.close(fd)
