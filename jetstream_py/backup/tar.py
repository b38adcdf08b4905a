"""Tar, as nats-server before 2.15 wrote it: files, each after a PAX header with its name or time.

Pieces of files come out as bytes go in; nothing is gathered but headers. `tarfile` reads a header and
checks its sum; its own reader wants a file to pull from, so the walk from header to header is done here.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import Final, NamedTuple

from jetstream_py.backup.errors import ArchiveError

RECORD: Final = tarfile.BLOCKSIZE
FILES: Final = 1_000_000  # no stream has more blocks and consumers
NAME: Final = 1024  # bytes of a file's name
PAX: Final = 64 * 1024  # bytes of an extended header
_PAX_TYPES: Final = (tarfile.XHDTYPE, tarfile.XGLTYPE)


class Piece(NamedTuple):
    """A part of a file. `left` is what is still to come of it."""

    name: str
    data: bytes
    first: bool
    left: int


class Untar:
    """From the bytes of a tar, in any cut, to the pieces of its files. Raises `ArchiveError`."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._name = ""
        self._pax = False
        self._left = 0  # bytes of the file
        self._padding = 0  # bytes after it
        self._begun = False
        self._long = ""  # what an extended header calls the next file
        self._header = bytearray()
        self._files = 0
        self.ended = False

    @property
    def between(self) -> bool:
        """Does no file wait for more?"""
        return not self._rest and not self._left and not self._padding

    def feed(self, data: bytes) -> Iterator[Piece]:
        if self.ended:
            return
        rest = self._rest
        rest += data
        at = 0
        while not self.ended:
            if self._left or self._begun:
                if self._left and at == len(rest):
                    break
                piece = bytes(rest[at : at + self._left])
                at += len(piece)
                yield from self._take(piece)
            elif self._padding:
                step = min(self._padding, len(rest) - at)
                if not step:
                    break
                self._padding -= step
                at += step
            elif len(rest) - at >= RECORD:
                self._open(bytes(rest[at : at + RECORD]))
                at += RECORD
            else:
                break
        del rest[:at]

    def _take(self, data: bytes) -> Iterator[Piece]:
        first, self._begun = self._begun, False
        self._left -= len(data)
        if not self._pax:
            yield Piece(self._name, data, first, self._left)
            return
        self._header += data
        if not self._left:
            self._long = _path(bytes(self._header)) or self._long
            self._header.clear()

    def _open(self, record: bytes) -> None:
        if not any(record):
            self.ended = True
            self._rest.clear()
            return
        try:
            found = tarfile.TarInfo.frombuf(record, "utf-8", "surrogateescape")
        except (tarfile.HeaderError, ValueError) as fault:
            raise ArchiveError(f"the archive is neither NATSARC1 nor a tar: {fault}") from None
        self._pax = found.type in _PAX_TYPES
        if not self._pax and found.type not in tarfile.REGULAR_TYPES:
            raise ArchiveError("the tar has something in it that is no file")
        if found.size < 0 or (self._pax and found.size > PAX):
            raise ArchiveError("a file of the tar has a size that cannot be")
        self._files += 1
        if self._files > FILES:
            raise ArchiveError("the tar has too many files")
        if not self._pax:
            self._name, self._long = self._long or found.name, ""
            if len(self._name) > NAME:
                raise ArchiveError("a file of the tar has a name that is too long")
        self._left = found.size
        self._padding = -found.size % RECORD
        self._begun = True


def _path(header: bytes) -> str:
    """What an extended header says of the name: lines of `length key=value`."""
    at, found = 0, ""
    while at < len(header):
        digits, _, _ = header[at : at + 8].partition(b" ")
        if not digits.isdigit() or not len(digits) + 2 < int(digits) <= len(header) - at:
            raise ArchiveError("an extended header of the tar is damaged")
        line = header[at + len(digits) + 1 : at + int(digits)]
        key, equals, value = line.partition(b"=")
        if not equals or not value.endswith(b"\n"):
            raise ArchiveError("an extended header of the tar is damaged")
        if key == b"path":
            found = value[:-1].decode("utf-8", "surrogateescape")
        elif key == b"size" or key.startswith(b"GNU.sparse"):
            raise ArchiveError("the tar has a file of a kind that nats-server does not write")
        at += int(digits)
    return found
