"""Messages as rows: nothing is lost, and what people ask for is there."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from jetstream_py.export import layout
from jetstream_py.export.layout import LayoutError
from jetstream_py.export.table import messages, to_table
from jetstream_py.store import Message
from jetstream_py.store.columns import Columns
from tests.export.support import NAME, NOON, Listed, check, hostile, manifest, run


def test_every_byte_comes_back() -> None:
    rows = hostile()
    table = to_table(NAME, Columns.of(rows))
    table.validate(full=True)
    assert table.schema == layout.SCHEMA
    assert [row for batch in table.to_batches() for row in messages(batch)] == rows
    assert table["size"].to_pylist() == [len(row.headers) + len(row.data) for row in rows]


def test_columns_say_what_people_ask_for() -> None:
    table = to_table(NAME, Columns.of(hostile()))
    by_subject = {row["subject"]: row for row in table.to_pylist()}
    repeated = by_subject["orders.repeated"]
    assert repeated["headers"] == [("A", ["1", "2"]), ("B", ["3"])]
    assert repeated["raw_headers"] is None
    assert by_subject["orders.mixed"]["headers"] == [("A", ["1", "2"]), ("B", ["3"])]
    assert by_subject["orders.latin"]["headers"] == [
        ("Name", ["caf\\xe9"]),
        ("X\\xff", ["\x00\x01"]),
    ]
    assert by_subject["orders.plain"]["headers"] == []
    assert by_subject["orders.plain"]["time"] == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert by_subject["orders.plain"]["time_ns"] == NOON + 789
    twins = [row["raw_subject"] for row in table.to_pylist() if row["subject"] == "orders.lat\\xe9"]
    assert twins == [b"orders.lat\xe9", None]


def test_encodings(tmp_path: Path) -> None:
    run(Listed(hostile()), tmp_path)
    known = manifest(tmp_path)
    assert [segment.path[:15] for segment in known.segments] == [
        "date=2026-01-31",
        "date=2026-02-01",
    ]
    file = pq.ParquetFile(tmp_path / NAME / known.segments[0].path)
    group = file.metadata.row_group(0)
    columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    assert {column.compression for column in columns.values()} == {"ZSTD"}
    for name in ("seq", "time", "time_ns", "size"):
        assert "DELTA_BINARY_PACKED" in columns[name].encodings
    assert "DELTA_LENGTH_BYTE_ARRAY" in columns["data"].encodings
    for name in ("stream", "subject", "headers.key_value.key"):
        assert columns[name].has_dictionary_page
    assert columns["seq"].statistics.min == known.segments[0].first_seq


def test_a_large_payload_is_alone(tmp_path: Path, small: None) -> None:
    rows = [
        Message(i, NOON, b"orders.a", b"", b"x" * size) for i, size in ((1, 10), (2, 9000), (3, 1))
    ]
    run(Listed(rows), tmp_path)
    assert [segment.count for segment in manifest(tmp_path).segments] == [1, 1, 1]
    check(tmp_path, rows)


@pytest.mark.parametrize(
    ("stream", "epoch", "name"),
    [("ORDERS", 1, "ORDERS"), ("a=b", 2, "a%3Db.2"), ("é ", 1, "%C3%A9%20")],
)
def test_directory_names(stream: str, epoch: int, name: str) -> None:
    assert layout.directory_name(stream, epoch) == name


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"{", "stream.json is damaged"),
        (b'{"version":2,"stream":"S","created_ns":1,"epoch":1,"config":{}}', "has version 2"),
    ],
)
def test_other_versions_are_refused(tmp_path: Path, text: bytes, complaint: str) -> None:
    path = tmp_path / NAME / "_manifest"
    path.mkdir(parents=True)
    (path / "stream.json").write_bytes(text)
    with pytest.raises(LayoutError, match=complaint):
        run(Listed(hostile()), tmp_path)
