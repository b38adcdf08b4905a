"""The archive of nats-server before 2.15: the files of a stream's store, in a tar.

    meta.inf, meta.sum                    the stream's configuration and its checksum
    msgs/<number>.idx, .fss               before 2.10, each before its block: what is left of the block
    msgs/<number>.blk                     messages, never compressed nor encrypted in a backup
    msgs/index.db                         from 2.10 on, after all blocks: what is left of them
    obs/<consumer>/meta.inf, .sum, o.dat  consumers

Blocks are read as they come. What the index says is known only after them: then some messages go again, so
for each block runs of the sequences that were in it are remembered. What comes out is what the newer
archive has, in another order: messages, `Gone` for some of them, consumers, and the state at the end. Names
are compared, never used as paths.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from jetstream_py.backup.archive import CONSUMERS, STATE, Entry
from jetstream_py.backup.blockfile import BlockReader, Gone
from jetstream_py.backup.errors import ArchiveError
from jetstream_py.backup.storefiles import (
    Extent,
    Index,
    checksum,
    read_block_index,
    read_consumer_state,
    read_index,
)
from jetstream_py.backup.tar import Piece, Untar

Item = Entry | Gone | None  # None: a pause, for those who have something else to do

SMALL: Final = 1024 * 1024  # bytes of a file with a configuration or a checksum
INDEX: Final = 128 * 1024 * 1024  # of an index: some millions of subjects
STATES: Final = 16 * 1024 * 1024  # of a consumer's state: a million pending messages
ALL_CONSUMERS: Final = 64 * 1024 * 1024  # of all of them ...
FILE: Final = 128  # ... when each file weighs so much beside its bytes
_BLOCK: Final = re.compile(r"msgs/(\d{1,18})\.(blk|idx|fss)")
_CONSUMER: Final = re.compile(r"obs/([^/]+)/(meta\.inf|meta\.sum|o\.dat)")
_INDEX: Final = "msgs/index.db"
_STEP: Final = 1024  # sequences looked at in one go


class FilesUnpacker:
    """From the bytes of a tar, in any cut, to its items. Raises `ArchiveError`."""

    def __init__(self) -> None:
        self._tar = Untar()
        self._stream = ""
        self._meta = b""
        self._file = bytearray()  # the one at hand, if it is read as a whole
        self._block: BlockReader | None = None
        self._number = 0
        self._extent: tuple[int, Extent] | None = None  # of the block that comes next
        self._index: Index | None = None
        self._runs: dict[int, array[int]] = {}  # of each block: first and last sequences
        self._last = 0  # the largest sequence that anything speaks of ...
        self._first = 0  # ... and the first one of a stream without messages
        self._consumers: dict[str, dict[str, bytes]] = {}
        self._weight = 0  # bytes of these
        self._finished = False

    @property
    def ended(self) -> bool:
        return self._finished

    @property
    def between(self) -> bool:
        return self._tar.between

    def feed(self, data: bytes) -> Iterator[Item]:
        if self._finished:
            return
        for piece in self._tar.feed(data):
            yield from self._take(piece)
        if self._tar.ended:
            yield from self._end()
            self._finished = True

    def _take(self, piece: Piece) -> Iterator[Item]:
        if block := _BLOCK.fullmatch(piece.name):
            yield from self._take_of_block(piece, int(block[1]), block[2])
        elif self._whole(piece, INDEX if piece.name == _INDEX else STATES):
            data = bytes(self._file)
            self._file.clear()
            yield from self._take_file(piece.name, data)

    def _whole(self, piece: Piece, most: int) -> bool:
        """Gather a file that is read at once. True: it is complete."""
        if piece.first and len(piece.data) + piece.left > most:
            raise ArchiveError(f"{piece.name} is too large")
        self._file += piece.data
        return not piece.left

    # -- blocks ------------------------------------------------------------------------------------

    def _take_of_block(self, piece: Piece, number: int, kind: str) -> Iterator[Item]:
        if not self._stream:
            raise ArchiveError("expected meta.inf first")
        if kind == "idx":
            if self._whole(piece, STATES) and self._file:  # 2.2 had empty ones for empty blocks
                extent = read_block_index(bytes(self._file), piece.name)
                self._extent = number, extent
                self._reach(extent)
                self._file.clear()
        elif kind == "blk":
            yield from self._take_messages(piece, number)

    def _take_messages(self, piece: Piece, number: int) -> Iterator[Item]:
        if piece.first:
            if self._index is not None or number <= self._number:
                raise ArchiveError(f"{piece.name} is not in order")
            self._block, self._number = BlockReader(self._stream, number), number
        assert self._block is not None
        extent = None
        if self._extent is not None and self._extent[0] == number:
            extent = self._extent[1]
        for item in self._block.feed(piece.data):
            if item is not None:
                self._last = max(self._last, item.seq)
            if isinstance(item, Entry):
                if extent is not None and not extent.has(item.seq):
                    continue
                self._remember(item.seq)
            yield item
        if not piece.left and not self._block.between:
            raise ArchiveError(f"{piece.name} is cut short")

    def _remember(self, seq: int) -> None:
        runs = self._runs.get(self._number)
        if runs is None:
            runs = self._runs[self._number] = array("Q")
        if runs and runs[-1] == seq - 1:
            runs[-1] = seq
        else:
            runs.extend((seq, seq))

    def _reach(self, extent: Extent | Index) -> None:
        self._first = max(self._first, extent.first)
        self._last = max(self._last, extent.last)

    # -- other files -------------------------------------------------------------------------------

    def _take_file(self, name: str, data: bytes) -> Iterator[Item]:
        if name == "meta.inf" and not self._meta:
            self._take_meta(data)
        elif name == "meta.sum" and not self._stream:
            self._take_sum(data)
        elif not self._stream:
            raise ArchiveError("expected meta.inf first")
        elif name == _INDEX and self._index is None:
            self._index = yield from read_index(data, self._stream)
            self._reach(self._index)
            yield from self._remove()
        elif consumer := _CONSUMER.fullmatch(name):
            self._take_consumer(consumer[1], consumer[2], data)
        elif not name.startswith("msgs/"):  # what is there beside blocks can be made from them
            raise ArchiveError(f"the tar has a file {name[:100]!r}, which is none of a stream")

    def _take_meta(self, data: bytes) -> None:
        if len(data) > SMALL:
            raise ArchiveError("meta.inf is too large")
        self._meta = data

    def _take_sum(self, data: bytes) -> None:
        name = _object(self._meta, "meta.inf").get("name")
        if not isinstance(name, str) or not name:
            raise ArchiveError("meta.inf has no name in it")
        if not _matches(data, name, self._meta):
            raise ArchiveError("meta.inf is damaged")
        self._stream = name

    def _take_consumer(self, consumer: str, file: str, data: bytes) -> None:
        files = self._consumers.setdefault(consumer, {})
        self._weight += len(data) + len(consumer) + FILE
        if self._weight > ALL_CONSUMERS:
            raise ArchiveError("the consumers are too large")
        if file in files:
            raise ArchiveError(f"there are two consumers {consumer!r}")
        files[file] = data

    # -- the end -----------------------------------------------------------------------------------

    def _remove(self) -> Iterator[Item]:
        """What is not there by the index goes again."""
        assert self._index is not None
        for number, runs in self._runs.items():
            extent = self._index.blocks.get(number)
            for at in range(0, len(runs) if extent is not None else 0, 2):
                assert extent is not None
                for first in range(runs[at], runs[at + 1] + 1, _STEP):
                    last = min(runs[at + 1], first + _STEP - 1)
                    yield from map(Gone, extent.gone(first, last))
                    yield None

    def _end(self) -> Iterator[Item]:
        if not self._stream:
            raise ArchiveError("EOF")
        for name, files in self._consumers.items():
            yield Entry(CONSUMERS + name.encode("utf-8", "replace"), 0, data=self._record(name))
            files.clear()
        first = max(self._first, self._last + 1 if self._last else 0)
        state = {"first_seq": first, "last_seq": self._last} if first else {"last_seq": self._last}
        yield Entry(STATE, 0, data=msgspec.json.encode(state))

    def _record(self, name: str) -> bytes:
        """A consumer as the newer archive has it."""
        files = self._consumers[name]
        meta = files.get("meta.inf", b"")
        if not _matches(files.get("meta.sum", b""), f"{self._stream}/{name}", meta):
            raise ArchiveError(f"the consumer {name!r} is damaged")
        config = _object(meta, f"the consumer {name!r}")
        config = {key: value for key, value in config.items() if key not in ("Created", "Name")}
        config.setdefault("name", name)
        state = read_consumer_state(files["o.dat"], name) if "o.dat" in files else {}
        return msgspec.json.encode({"config": config, "state": state})


def _matches(text: bytes, key: str, data: bytes) -> bool:
    return text == checksum(key, data).hex().encode()


def _object(data: bytes, what: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as fault:
        raise ArchiveError(f"{what} cannot be read: {fault}") from None
