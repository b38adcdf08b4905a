"""What a sink makes of rows, without Spark."""

from __future__ import annotations

import logging

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from pyspark_jetstream import rows, writer
from pyspark_jetstream.connection import connect
from pyspark_jetstream.errors import JetStreamError, OptionError
from pyspark_jetstream.options import parse
from pyspark_jetstream.publish import Publisher
from pyspark_jetstream.table import HEADERS
from tests.jetstream.support import SECOND, JetStream
from tests.spark_source.support import options, read

SUBJECT = StructField("subject", StringType())
DATA = StructField("data", BinaryType())


def test_columns_that_can_be_written() -> None:
    msg_id = StructField("msg_id", StringType())
    headers = StructField("headers", HEADERS)
    rows.check(parse({"stream": "S"}), StructType([SUBJECT, DATA, headers, msg_id]))
    rows.check(parse({"stream": "S", "subject": "a"}), StructType([DATA]))
    entry = [StructField("key", StringType()), StructField("value", StringType())]
    rows.check(parse({"bucket": "B"}), StructType(entry))


@pytest.mark.parametrize(
    ("given", "fields", "text"),
    [
        ({}, [SUBJECT], "there is no column data; it is needed to write"),
        ({}, [DATA], r"there is no column subject \(or option subject\)"),
        ({}, [SUBJECT, DATA, StructField("id", StringType())], "column id cannot be written"),
        ({}, [SUBJECT, StructField("data", LongType())], "column data is bigint; it has to be"),
        ({}, [SUBJECT, DATA, StructField("headers", StringType())], "has to be array<struct<key"),
        ({"subject": "a"}, [SUBJECT, DATA], "there is a column subject, so no option"),
        ({"subject": "a.*"}, [DATA], "is one subject without wildcards"),
    ],
)
def test_columns_that_cannot(given: dict[str, str], fields: list[StructField], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        rows.check(parse({"stream": "S", **given}), StructType(fields))


def batch(**columns: list[object]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_messages() -> None:
    found = rows.messages(
        parse({"stream": "S"}),
        batch(subject=["a", "b"], data=["x", None], msg_id=[None, "mine"]),
        ["p-0", "p-1"],
    )
    assert found.subjects == [b"a", b"b"]
    assert found.datas == [b"x", b""]
    assert found.blocks == [
        b"NATS/1.0\r\nNats-Msg-Id: p-0\r\n\r\n",
        b"NATS/1.0\r\nNats-Msg-Id: mine\r\n\r\n",
    ]


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"subject": ["a.*"], "data": ["x"]}, "'a.*' is no subject that can be written to"),
        ({"subject": [None], "data": ["x"]}, "None is no subject"),
        ({"subject": ["a b"], "data": ["x"]}, "'a b' is no subject"),
        ({"subject": ["a"], "data": ["x"], "msg_id": ["a\r\nb"]}, "a header has no line breaks"),
        (
            {"subject": ["a"], "data": ["x"], "headers": [[{"key": "A", "value": b"1\r\n"}]]},
            "is no header",
        ),
        (
            {"subject": ["a"], "data": ["x"], "headers": [[{"key": "A:", "value": b"1"}]]},
            "is no header",
        ),
        (
            {"subject": ["a"], "data": ["x"], "headers": [[{"key": "Nats-Msg-Id", "value": b"1"}]]},
            "in a column msg_id",
        ),
    ],
)
def test_rows_that_are_no_messages(columns: dict[str, list[object]], text: str) -> None:
    with pytest.raises(JetStreamError) as raised:
        rows.messages(parse({"stream": "S"}), batch(**columns), ["p-0"])
    assert text in str(raised.value)


def test_entries() -> None:
    found = rows.messages(
        parse({"bucket": "B"}),
        batch(key=["a", "b", "c"], value=["x", None, None], operation=[None, None, "purge"]),
        ["1", "2", "3"],
    )
    assert found.subjects == [b"$KV.B.a", b"$KV.B.b", b"$KV.B.c"]
    assert [b"DEL" in block for block in found.blocks] == [False, True, False]
    assert b"KV-Operation: PURGE\r\nNats-Rollup: sub\r\n" in found.blocks[2]
    for key, operation in (("a b", None), ("", None), (".a", None), ("a", "UPDATE")):
        with pytest.raises(JetStreamError):
            rows.messages(
                parse({"bucket": "B"}),
                batch(key=[key], value=["x"], operation=[operation]),
                ["1"],
            )


def test_many_at_once(stream: JetStream) -> None:
    """More than the window holds, ids that come again."""
    count = 10_000
    blocks = [b"NATS/1.0\r\nNats-Msg-Id: %d\r\n\r\n" % (i % 9_000) for i in range(count)]
    with connect(options(stream)) as link:
        publisher = Publisher(link, "S")
        publisher.publish([b"s.a"] * count, blocks, [b"%d" % i for i in range(count)])
        publisher.flush()
    assert (publisher.sent, publisher.duplicates) == (10_000, 1_000)
    assert [data for _, _, data in read(stream)] == [b"%d" % i for i in range(9_000)]


def test_refusals(js: JetStream) -> None:
    js.create("S", subjects=["s.>"], max_msg_size=100)
    js.create("T", subjects=["t"])
    for subject, size, text in (
        (b"s.a", 200, "message size exceeds maximum allowed"),
        (b"t", 1, "stream T has stored what was meant for S"),
        (b"nobody", 1, "no stream listens"),
        (b"s.a", 2_000_000, "a message of 2000000 bytes; the server takes 1048576"),
    ):
        with connect(options(js)) as link:
            publisher = Publisher(link, "S")
            with pytest.raises(JetStreamError, match=text):
                publish(publisher, subject, b"x" * size)


def publish(publisher: Publisher, subject: bytes, data: bytes) -> None:
    publisher.publish([subject], [b""], [data])
    publisher.flush()


def test_a_short_memory_is_told(js: JetStream, caplog: pytest.LogCaptureFixture) -> None:
    schema = StructType([SUBJECT, DATA])
    js.create("S", subjects=["s.>"], duplicate_window=600 * SECOND)
    with caplog.at_level(logging.WARNING):
        writer.prepare(options(js), schema, False)
        assert not caplog.records
        js.update("S", subjects=["s.>"], duplicate_window=60 * SECOND)
        writer.prepare(options(js), schema, False)
    (record,) = caplog.records
    assert "stream S remembers message ids for 60 s" in record.getMessage()
    with pytest.raises(OptionError, match="cannot be overwritten"):
        writer.prepare(options(js), schema, True)
