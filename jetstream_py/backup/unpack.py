"""From the bytes inside the S2 stream to items, whichever archive they are."""

from __future__ import annotations

from collections.abc import Iterator

from jetstream_py.backup.archive import CONSUMERS, MAGIC, STATE, Entry, Unpacker
from jetstream_py.backup.errors import ArchiveError
from jetstream_py.backup.files import FilesUnpacker, Item


class OrderedUnpacker(Unpacker):
    """The state comes first, then consumers, then messages."""

    def __init__(self) -> None:
        super().__init__()
        self._last: Entry | None = None

    def feed(self, data: bytes) -> Iterator[Entry]:
        for entry in super().feed(data):
            last, self._last = self._last, entry
            if last is None:
                if entry.name != STATE or entry.seq:
                    raise ArchiveError("expected state.json first")
            elif not entry.seq and (last.seq or not entry.name.startswith(CONSUMERS)):
                raise ArchiveError("expected message sequence")
            yield entry


class AnyUnpacker:
    """An archive of nats-server 2.15 and of ours, or one of the versions before: their first bytes tell."""

    def __init__(self) -> None:
        self._begin = b""
        self._found: OrderedUnpacker | FilesUnpacker | None = None

    @property
    def ended(self) -> bool:
        return self._found is not None and self._found.ended

    @property
    def between(self) -> bool:
        return not self._begin if self._found is None else self._found.between

    def feed(self, data: bytes) -> Iterator[Item]:
        """Take some bytes; what is complete now. Raises `ArchiveError`."""
        if self._found is None:
            self._begin += data
            if len(self._begin) < len(MAGIC):
                return
            new = self._begin.startswith(MAGIC)
            self._found = OrderedUnpacker() if new else FilesUnpacker()
            data, self._begin = self._begin, b""
        yield from self._found.feed(data)
