"""Archives: entries in any cut, and what is no archive."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetstream_py.backup import archive
from jetstream_py.backup.archive import END, MAGIC, Entry, Unpacker, encode
from jetstream_py.backup.errors import ArchiveError
from jetstream_py.backup.varint import read_uvarint, read_varint, uvarint, varint

ENTRIES = st.builds(
    Entry,
    st.binary(min_size=1, max_size=20),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 2**64 - 1),
    st.binary(max_size=20),
    st.binary(max_size=50),
)


def unpacked(data: bytes, cuts: list[int]) -> tuple[list[Entry], Unpacker]:
    unpacker, at, found = Unpacker(), 0, list[Entry]()
    for cut in sorted(cuts):
        found += unpacker.feed(data[at:cut])
        at = max(at, cut)
    found += unpacker.feed(data[at:])
    return found, unpacker


@given(st.lists(ENTRIES, max_size=6), st.lists(st.integers(0, 400)), st.binary(max_size=5))
def test_entries_in_any_cut(entries: list[Entry], cuts: list[int], after: bytes) -> None:
    data = MAGIC + b"".join(map(encode, entries)) + END + after
    found, unpacker = unpacked(data, cuts)
    assert found == entries
    assert unpacker.ended
    assert unpacker.between


@given(st.lists(ENTRIES, min_size=1, max_size=3), st.data())
def test_cut_short(entries: list[Entry], data: st.DataObject) -> None:
    whole = MAGIC + b"".join(map(encode, entries)) + END
    found, unpacker = unpacked(whole[: data.draw(st.integers(0, len(whole) - 1))], [])
    assert found == entries[: len(found)]
    assert not unpacker.ended


@given(st.binary(max_size=200))
def test_noise(noise: bytes) -> None:
    """Anything may follow the beginning; it is refused, or it waits for more."""
    try:
        list(Unpacker().feed(MAGIC + noise))
    except ArchiveError:
        pass


def test_as_nats_server_writes_it() -> None:
    written = b"\x03\xe0\xd1\xeb\x8f\xe9\xca\xc6\xe81\x01\x00\x07s.0hello 0"
    entry = Entry(b"s.0", 1794839668554822768, 1, b"", b"hello 0")
    assert unpacked(MAGIC + written + END, [])[0] == [entry]
    assert encode(entry) == written


def test_another_format() -> None:
    with pytest.raises(ArchiveError, match="not of format NATSARC1"):
        list(Unpacker().feed(b"meta.inf" + bytes(504)))


@pytest.mark.parametrize(
    "sizes", [(archive.NAME + 1, 0, 0), (1, archive.HEADERS + 1, 0), (1, 0, archive.DATA + 1)]
)
def test_too_large(sizes: tuple[int, int, int]) -> None:
    """Refused when the sizes are known, not when the bytes are there."""
    name, headers, data = map(uvarint, sizes)
    with pytest.raises(ArchiveError, match="too large"):
        list(Unpacker().feed(MAGIC + name + varint(0) + uvarint(1) + headers + data))


@given(st.integers(0, 2**64 - 1), st.integers(-(2**63), 2**63 - 1))
def test_numbers(unsigned: int, signed: int) -> None:
    assert read_uvarint(uvarint(unsigned), 0) == (unsigned, len(uvarint(unsigned)))
    assert read_varint(varint(signed), 0)[0] == signed


@pytest.mark.parametrize("data", [b"\xff" * 10, b"\xff" * 9 + b"\x02", b"\x80" * 10 + b"\0"])
def test_numbers_that_are_none(data: bytes) -> None:
    with pytest.raises(ArchiveError, match="too large"):
        read_uvarint(data, 0)
