"""Reading ranges, without Spark."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from pyspark_jetstream import fetch, reading, table
from pyspark_jetstream.errors import ApiError, ConnectError, DataLossError, JetStreamError
from pyspark_jetstream.fetch import CONSUMER, DIRECT
from tests.jetstream.support import JetStream
from tests.spark_source.support import fill, options, planned, read, sequences, span

WAYS = pytest.mark.parametrize("way", [DIRECT, CONSUMER])


@WAYS
def test_a_range(stream: JetStream, way: str) -> None:
    fill(stream, 100)
    rows = read(stream, fetch=way, startingOffsets="11", endingOffsets="31", minPartitions="3")
    assert rows == [(i + 1, f"s.{i % 10}", b"%d" % i) for i in range(10, 30)]


@WAYS
def test_many_requests(stream: JetStream, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches end by their rows, by their bytes, and where a single message is larger than these."""
    fill(stream, 50)
    stream.publish("s.large", b"x" * 5000)
    fill(stream, 7)
    monkeypatch.setattr(fetch, "BATCH_ROWS", 20)
    monkeypatch.setattr(fetch, "BATCH_BYTES", 1000)
    rows = read(stream, fetch=way)
    assert sequences(rows) == list(range(1, 59))
    assert rows[50] == (51, "s.large", b"x" * 5000)


@WAYS
def test_holes(stream: JetStream, way: str) -> None:
    fill(stream, 30)
    for seq in (1, 10, 11, 12, 30):
        stream.ok("STREAM.MSG.DELETE.S", {"seq": seq})
    rows = read(stream, fetch=way, minPartitions="4", startingOffsets="2")
    assert sequences(rows) == [n for n in range(2, 30) if n not in (10, 11, 12)]


@WAYS
@pytest.mark.parametrize("subject", ["s.3", "s.3,s.7", "s.*", "s.>,s.1", "s.none"])
def test_subjects(stream: JetStream, way: str, subject: str) -> None:
    fill(stream, 40)
    wanted = {"s.3": {3}, "s.3,s.7": {3, 7}, "s.none": set()}.get(subject, set(range(10)))
    rows = read(stream, fetch=way, subject=subject, minPartitions="3")
    assert sequences(rows) == [i + 1 for i in range(40) if i % 10 in wanted]


@WAYS
def test_headers_and_times(stream: JetStream, way: str) -> None:
    """Names that repeat, bytes that are no UTF-8, headers that look like the server's own."""
    block = b"NATS/1.0\r\nA: 1\r\nA: 2\r\nB: \xff\xfe\r\nNats-Stream: T\r\nNats-Sequence: 9\r\n\r\n"
    stream.publish("s.a", b"one", block)
    stream.publish("s.b", b"two")
    (found,) = reading.read(options(stream), span(stream, 1, 3, way))
    batch = table.batch(found, "S", table.MESSAGES)
    assert batch.schema == table.arrow_schema(table.MESSAGES)
    one, two = batch.to_pylist()
    assert [(h["key"], h["value"]) for h in one["headers"]] == [
        ("A", b"1"),
        ("A", b"2"),
        ("B", b"\xff\xfe"),
        ("Nats-Stream", b"T"),
        ("Nats-Sequence", b"9"),
    ]
    assert two["headers"] == []
    assert (one["seq"], one["subject"], one["data"], one["stream"]) == (1, "s.a", b"one", "S")
    stored = [stream.message("S", seq=seq)["time"] for seq in (1, 2)]
    texts = [row["time"].isoformat().replace("+00:00", "") for row in (one, two)]
    for text, whole in zip(texts, stored, strict=True):
        assert whole.startswith(text[:26].rstrip("0"))  # nanoseconds are cut


@WAYS
def test_headers_only(stream: JetStream, way: str) -> None:
    stream.publish("s.a", b"x" * 1000, {"A": "b"})
    (found,) = reading.read(options(stream), span(stream, 1, 2, way, headers_only=way == CONSUMER))
    assert table.header_array(found.headers).to_pylist() == [[{"key": "A", "value": b"b"}]]
    assert found.datas == [b"" if way == CONSUMER else b"x" * 1000]


def test_times_as_text_and_as_numbers_agree() -> None:
    texts = [b"2026-01-31T12:00:00Z", b"2026-01-31T12:00:00.5Z", b"2026-01-31T12:00:00.123456789Z"]
    start = 1_769_860_800_000_000_000
    numbers = [start, start + 500_000_000, start + 123_456_789]
    assert table.time_array(texts).equals(table.time_array(numbers))
    assert table.time_array(numbers)[2].cast(pa.int64()).as_py() == (start + 123_456_000) // 1000


def test_subjects_that_are_no_text() -> None:
    assert table.text_array([b"a", b"\xff"]).to_pylist() == ["a", "\ufffd"]


# -- which way -------------------------------------------------------------------------------------


def test_a_work_queue_keeps_what_is_read(js: JetStream) -> None:
    js.create("S", subjects=["s.>"], retention="workqueue", allow_direct=True)
    fill(js, 20)
    assert sequences(read(js, subject="s.1,s.2")) == [2, 3, 12, 13]
    assert js.state("S")["messages"] == 20
    with pytest.raises(JetStreamError, match="a consumer would take its messages away"):
        read(js, fetch="consumer")


def test_a_work_queue_without_direct_get_is_refused(js: JetStream) -> None:
    js.create("S", subjects=["s.>"], retention="workqueue")
    with pytest.raises(JetStreamError, match="set allow_direct"):
        planned(js)


def test_a_stream_without_direct_get_is_read_by_consumers_that_go(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    fill(js, 20)
    assert sequences(read(js)) == list(range(1, 21))
    assert js.state("S")["consumer_count"] == 0
    with pytest.raises(JetStreamError, match="does not allow direct get; use fetch=consumer"):
        read(js, fetch="direct")


# -- the stream changes ----------------------------------------------------------------------------


@WAYS
def test_purged_before_a_range_is_read(stream: JetStream, way: str) -> None:
    fill(stream, 20)
    (wanted,) = planned(stream, fetch=way, startingOffsets="5")
    stream.ok("STREAM.PURGE.S", {"seq": 10})
    with pytest.raises(DataLossError, match="begins at 10 now"):
        list(reading.read(options(stream), wanted))
    (careless,) = planned(stream, fetch=way, startingOffsets="5", failOnDataLoss="false")
    (rows,) = reading.read(options(stream), careless)
    assert rows.seqs == list(range(10, 21))


@WAYS
def test_purged_while_a_range_is_read(
    stream: JetStream, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(stream, 20)
    monkeypatch.setattr(fetch, "BATCH_ROWS", 5)
    reader = reading.read(options(stream), span(stream, 1, 21, way))
    assert next(reader).seqs == [1, 2, 3, 4, 5]
    stream.ok("STREAM.PURGE.S", {"seq": 12})
    with pytest.raises(DataLossError, match="may be gone unread"):
        list(reader)


def test_read_before_it_goes_is_no_loss(stream: JetStream, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(stream, 20)
    monkeypatch.setattr(fetch, "BATCH_ROWS", 5)
    reader = reading.read(options(stream), span(stream, 1, 21))
    next(reader)
    stream.ok("STREAM.PURGE.S", {"seq": 4})
    assert [seq for rows in reader for seq in rows.seqs] == list(range(6, 21))


def test_earliest_moves_with_the_stream(stream: JetStream) -> None:
    fill(stream, 20)
    (wanted,) = planned(stream)
    stream.ok("STREAM.PURGE.S", {"seq": 10})
    (rows,) = reading.read(options(stream), wanted)
    assert rows.seqs == list(range(10, 21))


def test_made_again_after_planning(stream: JetStream) -> None:
    fill(stream, 20)
    (wanted,) = planned(stream)
    (careless,) = planned(stream, failOnDataLoss="false")
    stream.delete("S")
    stream.create("S", subjects=["s.>"], allow_direct=True)
    fill(stream, 20)
    with pytest.raises(DataLossError, match="deleted and made again"):
        list(reading.read(options(stream), wanted))
    assert list(reading.read(options(stream), careless)) == []


def test_no_such_stream(js: JetStream) -> None:
    with pytest.raises(ApiError, match="stream not found"):
        planned(js)


def test_times(stream: JetStream) -> None:
    fill(stream, 5)
    fill(stream, 5)
    middle = stream.message("S", seq=6)["time"][:26].rstrip("Z") + "Z"  # cut: not after it
    first = sequences(read(stream, startingTimestamp=middle))
    assert first[0] in range(2, 7)
    assert first[-1] == 10
    assert sequences(read(stream, endingTimestamp=middle)) == list(range(1, first[0]))
    assert read(stream, startingTimestamp="2200-01-01T00:00:00Z") == []
    assert len(read(stream, endingTimestamp="2200-01-01T00:00:00Z")) == 10


# -- limits ----------------------------------------------------------------------------------------


@WAYS
def test_a_hundred_tasks_at_once(stream: JetStream, way: str) -> None:
    fill(stream, 1000)
    found = options(stream)
    spans = planned(stream, fetch=way, minPartitions="100")
    assert len(spans) == 100

    def task(wanted: fetch.Range) -> list[int]:
        return [seq for rows in reading.read(found, wanted) for seq in rows.seqs]

    with ThreadPoolExecutor(100) as pool:
        seqs = [seq for part in pool.map(task, spans) for seq in part]
    assert seqs == list(range(1, 1001))
    assert stream.state("S")["consumer_count"] == 0


# -- logins ----------------------------------------------------------------------------------------


def test_all_servers_are_tried(stream: JetStream) -> None:
    fill(stream, 3)
    servers = f"nats://127.0.0.1:1,{stream.server.url}"
    assert sequences(read(stream, servers=servers)) == [1, 2, 3]
    with pytest.raises(ConnectError, match="refused"):
        read(stream, servers="nats://127.0.0.1:1")
    with pytest.raises(ConnectError, match="is no address of a server"):
        read(stream, servers="http://127.0.0.1")
