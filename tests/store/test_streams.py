"""What a stream promises, on both backends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jetstream_py.store import Message, StreamStore
from jetstream_py.store.memory import MemoryStream

from .support import NOW, Desk


class Twin:
    """A stream of either kind; `commit` is where the one on disk becomes durable."""

    def __init__(self, path: Path, memory: bool) -> None:
        self.memory = memory
        self.desk = Desk(path / "js")
        self.stream = self.desk.store.create(b"config", memory)

    def commit(self) -> None:
        if self.desk.store.dirty:
            assert self.desk.commit() == ""


@pytest.fixture(params=["file", "memory"])
def twin(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Twin]:
    made = Twin(tmp_path, request.param == "memory")
    yield made
    made.desk.stop()


def fill(stream: StreamStore, *subjects: bytes) -> None:
    for subject in subjects:
        stream.append(subject, b"", b"data", NOW + 10 * stream.last_seq)


def state(stream: StreamStore) -> tuple[int, int, int]:
    return stream.first_seq, stream.last_seq, stream.messages


class TestStream:
    def test_new(self, twin: Twin) -> None:
        assert state(twin.stream) == (0, 0, 0)
        assert (twin.stream.first_ts, twin.stream.last_ts, twin.stream.bytes) == (0, 0, 0)
        assert twin.stream.next(0) is None
        assert twin.stream.last(b">") == 0
        assert twin.stream.purge() == 0

    def test_message_comes_back_whole(self, twin: Twin) -> None:
        headers = b"NATS/1.0\r\nA: b\r\n\r\n"
        expected = Message(1, NOW, b"a.b", headers, b"\x00\xff\r\n")
        assert twin.stream.append(b"a.b", headers, b"\x00\xff\r\n", NOW) == 1
        assert twin.stream.get(1) == expected
        twin.commit()
        assert twin.stream.get(1) == expected
        assert twin.stream.next(0, b"a.*") == expected

    def test_bytes(self, twin: Twin) -> None:
        twin.stream.append(b"subject", b"", b"12345", NOW)
        twin.stream.append(b"subject", b"headers!", b"12345", NOW)
        sizes = [16 + 12, 16 + 20] if twin.memory else [30 + 12, 30 + 12 + 4 + 8]
        assert twin.stream.bytes == sum(sizes)
        assert twin.stream.size(b"subject", b"headers!", b"12345") == sizes[1]

    def test_everything_gone(self, twin: Twin) -> None:
        fill(twin.stream, b"a", b"b", b"a")
        twin.commit()
        assert twin.stream.purge() == 3
        assert state(twin.stream) == (4, 3, 0)
        assert (twin.stream.first_ts, twin.stream.last_ts) == (0, NOW + 20)
        assert twin.stream.num_subjects == 0
        fill(twin.stream, b"a")
        assert state(twin.stream) == (4, 4, 1)

    def test_start_at(self, twin: Twin) -> None:
        twin.stream.start_at(100)
        assert state(twin.stream) == (100, 99, 0)
        fill(twin.stream, b"a")
        assert state(twin.stream) == (100, 100, 1)
        with pytest.raises(ValueError, match="begun"):
            twin.stream.start_at(200)

    def test_sequences_only_rise(self, twin: Twin) -> None:
        twin.stream.append(b"a", b"", b"", NOW, seq=10)
        with pytest.raises(ValueError, match="rise"):
            twin.stream.append(b"a", b"", b"", NOW, seq=10)
        assert twin.stream.append(b"a", b"", b"", NOW, seq=13) == 13
        assert twin.stream.deleted() == [11, 12]

    def test_limit_per_subject(self, twin: Twin) -> None:
        for i in range(200):
            fill(twin.stream, b"key.%d" % (i % 7))
            if twin.stream.count(b"key.%d" % (i % 7)) > 1:
                twin.stream.remove(twin.stream.oldest(b"key.%d" % (i % 7)))
            if i % 13 == 0:
                twin.commit()
        assert twin.stream.messages == 7
        assert twin.stream.first_seq == 194
        assert twin.stream.oldest(b"none") == 0

    def test_purge_keeps_the_newest(self, twin: Twin) -> None:
        fill(twin.stream, *[b"a", b"b"] * 10)
        twin.commit()
        assert twin.stream.purge(b"a", keep=3) == 7
        assert twin.stream.subjects() == {b"a": 3, b"b": 10}
        assert twin.stream.purge(b"b", before=10) == 4
        assert twin.stream.purge(keep=2) == 7
        assert state(twin.stream) == (19, 20, 2)

    def test_times(self, twin: Twin) -> None:
        fill(twin.stream, *[b"a"] * 5)
        twin.commit()
        fill(twin.stream, *[b"a"] * 5)
        assert [twin.stream.seq_at(NOW + ts) for ts in (0, 1, 10, 41, 90, 91)] == [
            1,
            2,
            2,
            6,
            10,
            11,
        ]

    def test_many_subjects_in_one_group(self, twin: Twin) -> None:
        fill(twin.stream, *[b"many.%d" % i for i in range(3_000)])
        twin.commit()
        assert twin.stream.num_subjects == 3_000
        assert twin.stream.last(b"many.2500") == 2_501
        found = twin.stream.next(1, b"many.2999")
        assert found is not None
        assert found.seq == 3_000
        assert twin.stream.count(b"many.*", since=2_001) == 1_000

    @pytest.mark.parametrize("size", [70_000, 1_500_000, 9_000_000])
    def test_large_payloads(self, twin: Twin, size: int) -> None:
        data = bytes(range(256)) * (size // 256)
        small = twin.stream.append(b"s", b"", b"small", NOW)
        seq = twin.stream.append(b"big", b"head", data, NOW)
        after = twin.stream.append(b"s", b"", b"after", NOW)
        assert twin.stream.get(seq) == Message(seq, NOW, b"big", b"head", data)
        twin.commit()
        assert twin.stream.get(seq) == Message(seq, NOW, b"big", b"head", data)
        assert twin.stream.remove(seq) is not None
        twin.commit()
        assert [m.seq for m in (twin.stream.get(small), twin.stream.get(after)) if m] == [1, 3]
        assert twin.stream.bytes == 2 * twin.stream.size(b"s", b"", b"small")


def test_a_stream_that_was_emptied_from_both_ends_goes_on() -> None:
    """The newest is looked for after the oldest was: what comes next must not be lost between them."""
    stream = MemoryStream(1)
    stream.append_run([b"a"] * 10, [b""] * 10, NOW)
    for seq in range(1, 11):
        assert stream.discard(seq)
    assert stream.last(b"") == 0
    assert stream.append(b"a", b"", b"", NOW) == 11
    assert (stream.last(b""), stream.first_seq, stream.oldest(b"a")) == (11, 11, 11)
    stream.shrink(0, 0)
    assert stream.messages == 0
