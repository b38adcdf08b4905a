"""Damaged backups of older servers: whatever is done to one, the stream is right, or there is none."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jetstream_py.backup.blockfile import Gone
from jetstream_py.backup.errors import ArchiveError
from tests.backup.old import VERSIONS, files, items, old_backups
from tests.backup.test_old import made

TARS = {version: old_backups(version)["plain"].tar for version in VERSIONS}
CONSUMERS = old_backups("2.14.6")["consumers"].tar


def messages(tar: bytes) -> dict[int, object]:
    found = dict[int, object]()
    for item in items(tar):
        if isinstance(item, Gone):
            found.pop(item.seq, None)
        elif item is not None and item.seq:
            found[item.seq] = item
    return found


GOOD = {version: messages(tar) for version, tar in TARS.items()}


def outcome(tar: bytes) -> dict[int, object] | None:
    """None: refused."""
    try:
        return messages(tar)
    except ArchiveError:
        return None


@settings(deadline=None, max_examples=80)
@given(st.sampled_from(VERSIONS), st.data())
def test_a_block_or_its_index_is_damaged(version: str, data: st.DataObject) -> None:
    """A record has a checksum, so it is what it was or the backup is refused. The index of a block before
    2.10 has none: other messages may be gone then, but none is another."""
    parts = files(TARS[version])
    name = data.draw(st.sampled_from([each for each in parts if each.startswith("msgs/")]))
    bad = bytearray(parts[name])
    at = data.draw(st.integers(0, len(bad) - 1))
    bad[at] ^= data.draw(st.integers(1, 255))
    found = outcome(made(parts | {name: bytes(bad)}))
    good = GOOD[version]
    if found is None or name.endswith(".fss"):
        return
    assert name.endswith(".idx")
    assert all(found[seq] == good[seq] for seq in found if seq in good)


@settings(deadline=None, max_examples=150)
@given(st.data())
@example(None)
def test_noise(data: st.DataObject | None) -> None:
    """Bytes anywhere, parts that are missing or twice: an error of the one kind, or items."""
    bad = bytearray(CONSUMERS)
    for _ in range(data.draw(st.integers(1, 4)) if data else 0):
        assert data is not None
        at = data.draw(st.integers(0, len(bad) - 1))
        match data.draw(st.integers(0, 3)):
            case 0:
                bad[at] = data.draw(st.integers(0, 255))
            case 1:
                del bad[at : at + data.draw(st.sampled_from([1, 8, 512, 1024]))]
            case 2:
                bad[at:at] = bad[at : at + data.draw(st.sampled_from([1, 8, 512, 1024]))]
            case 3:
                bad[at : at + 8] = data.draw(st.binary(min_size=8, max_size=8))
    outcome(bytes(bad))


def test_memory_is_bounded() -> None:
    """A tar that claims much, and never ends: what is kept is small."""
    parts = files(CONSUMERS)
    tar = made({"meta.inf": parts["meta.inf"], "meta.sum": parts["meta.sum"]})[:-10240]
    tar += made({"msgs/notes.txt": bytes(15 << 20)})
    tracemalloc.start()
    with pytest.raises(ArchiveError):
        items(tar[: 6 << 20] + b"x" * 512 + tar[1 << 20 :], step=1 << 16)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20
