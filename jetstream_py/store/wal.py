"""The write-ahead log: one write and one sync make a small group durable.

LMDB needs two syncs per commit (pages, then the page that makes them valid) and writes a page of each tree
it touches. For a few messages that is nearly all of the cost. So a small group is only described (`redo`)
and appended here, and its answers leave; what it says stays staged, and one LMDB transaction takes it along
with many others. A start reads what LMDB has not got and stages it again.

    small groups     record 0 | record 1 | record 2 | ...          each a write that is synced when it returns
    LMDB commit      all that is staged, and "generation G is in here", in one transaction
    from then on     record 0 of generation G + 1, over the old ones

The file is a ring of one turn: after each LMDB commit it begins again at its start, and nothing is erased.
Which records count is said by numbers, never by the file's length:

* A record is `magic, checksum, generation, salt, index, length`, then the body; the checksum covers all
  that is behind it.
* LMDB has the last generation that it took. Records of that one or an older one are leftovers.
* Records of the next generation count from index 0 up to the first that is not whole. A record is begun when
  the one before it is synced, so only the last can be torn, and that one was never answered.
* Each begins at a page of its own: no write touches a sector in which something answered lies.
* Generations only rise, so a leftover behind a torn record is known by its number. And a payload that was
  made to look like a record of the next one is not taken for it: a generation has a salt of its own, drawn
  when it begins, which stands in each of its records.

To apply a record twice changes nothing, and so a start that is cut short is done again. Space that was
written before needs no new blocks from the file system, which makes its syncs cheaper, too. The file's name
is synced with its directory before the first record (`opening`).

What cannot happen by a power cut is damage by the disk: if a record is not whole but whole ones of the same
generation follow, they are not used, and that is told.
"""

from __future__ import annotations

import errno
import os
import struct
from typing import Final, NamedTuple

from jetstream_py import limits

from . import failpoints
from .checksum import Extend

FILE: Final = "wal"
_MAGIC: Final = b"jsW1"
_HEAD: Final = struct.Struct("<4sIQ8sII")  # magic, checksum, generation, salt, index, length
_CHECKED: Final = 8  # the checksum covers what comes behind it
_PAGE: Final = 4096
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Wal:
    """The log of a store that is open."""

    def __init__(self, directory: str, extend: Extend, taken: int) -> None:
        """`taken` is the last generation that LMDB has. Raises OSError."""
        self._extend = extend
        self._fd = os.open(path_in(directory), os.O_RDWR | os.O_CLOEXEC | os.O_DSYNC)
        self.generation = taken + 1
        self._begin()

    def _begin(self) -> None:
        self._salt = os.urandom(8)
        self._index = self._at = 0

    @property
    def empty(self) -> bool:
        """Nothing was written since LMDB last took everything."""
        return not self._at

    def append(self, body: bytes) -> bool:
        """Make a record durable. False if it has no room: then only LMDB can take it. Raises OSError."""
        size = _HEAD.size + len(body)
        if self._at + size > limits.WAL_BYTES:
            return False
        record = self._sealed(body)
        at = self._at
        self._at += -(-size // _PAGE) * _PAGE  # also if it fails: then something may be there
        failpoints.hit("commit.before")
        try:
            written = os.pwrite(self._fd, record, at)
        except OSError as error:
            if error.errno in _NO_ROOM:
                return False
            raise
        if written != size:
            return False  # a full disk, too; what is there is no whole record
        self._index += 1
        failpoints.hit("commit.after")
        return True

    def _sealed(self, body: bytes) -> bytes:
        head = _HEAD.pack(_MAGIC, 0, self.generation, self._salt, self._index, len(body))
        checked = head[_CHECKED:] + body
        return _MAGIC + self._extend(0, checked).to_bytes(4, "little") + checked

    def found(self) -> None:
        """A start has read records: the generation is not to be used again."""
        self._at = _PAGE

    def taken(self) -> None:
        """LMDB has it all."""
        if not self.empty:
            self.generation += 1
            self._begin()

    def wipe(self) -> None:
        """Leave no byte of what was there. Raises OSError."""
        os.pwrite(self._fd, bytes(os.fstat(self._fd).st_size), 0)

    def clear(self) -> None:
        """Give its space back; LMDB has it all."""
        os.ftruncate(self._fd, 0)

    def close(self) -> None:
        os.close(self._fd)


def path_in(directory: str) -> str:
    return os.path.join(directory, FILE)


def make(directory: str) -> None:
    """Have the file; the caller syncs the directory."""
    os.close(os.open(path_in(directory), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640))


def read(directory: str, extend: Extend, taken: int) -> tuple[list[bytes], str]:
    """The bodies that LMDB has not got, in order, and what is wrong with the file. Raises OSError."""
    try:
        with open(path_in(directory), "rb") as file:
            data = file.read(limits.WAL_MOST)
    except FileNotFoundError:
        return [], ""
    first = _record(data, 0, extend)
    if first is not None and first.generation > taken + 1:
        return [], f"the write-ahead log is of generation {first.generation}, the store has {taken}"
    bodies: list[bytes] = []
    at = 0
    if first is not None and first.generation > taken:
        while (found := _record(data, at, extend)) and found.follows(first, len(bodies)):
            bodies.append(found.body)
            at += -(-(_HEAD.size + len(found.body)) // _PAGE) * _PAGE
    rest = (_record(data, other, extend) for other in range(at + _PAGE, len(data), _PAGE))
    # By its salt, if that is known: a payload may look like a record of any generation.
    salt = first.salt if bodies and first is not None else b""
    lost = sum(
        other is not None and (other.salt == salt if salt else other.generation == taken + 1)
        for other in rest
    )
    complaint = f"the write-ahead log is damaged: {lost} of its records are lost" if lost else ""
    return bodies, complaint


class _Record(NamedTuple):
    generation: int
    salt: bytes
    number: int
    body: bytes

    def follows(self, first: _Record, index: int) -> bool:
        return (self.generation, self.salt, self.number) == (first.generation, first.salt, index)


def _record(data: bytes, at: int, extend: Extend) -> _Record | None:
    """What is there, if it is whole."""
    if data[at : at + len(_MAGIC)] != _MAGIC or len(data) < at + _HEAD.size:
        return None
    _, crc, generation, salt, index, length = _HEAD.unpack_from(data, at)
    end = at + _HEAD.size + length
    if end > len(data) or extend(0, data[at + _CHECKED : end]) != crc:
        return None
    return _Record(generation, salt, index, data[at + _HEAD.size : end])
