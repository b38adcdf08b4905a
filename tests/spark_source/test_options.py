"""Options: what is understood, and that every mistake is told with the right name."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict

from pyspark_jetstream import DefaultSource
from pyspark_jetstream.errors import OptionError
from pyspark_jetstream.options import Options, parse


def test_nothing_given_reads_the_server_of_this_machine() -> None:
    assert parse({}) == Options()


def test_names_are_found_in_any_case() -> None:
    given = CaseInsensitiveDict(
        {"maxOffsetsPerTrigger": "7", "STREAM": "S", "includeHeaders": "True"}
    )
    lowered = dict(given)
    assert "maxoffsetspertrigger" in lowered  # this is what Spark's dictionary makes of names
    for options in (parse(given), parse(lowered)):
        assert (options.max_offsets, options.stream, options.include_headers) == (7, "S", True)


def test_lists_and_times() -> None:
    options = parse(
        {
            "servers": "nats://a:1, tls://b",
            "subject": "a.*, b.>",
            "startingTimestamp": "2026-01-31T12:00:00.000001+01:00",
            "endingTimestamp": "1000",
        }
    )
    assert options.servers == ("nats://a:1", "tls://b")
    assert options.subjects == ("a.*", "b.>")
    assert options.starting_ns == 1_769_857_200_000_001_000
    assert options.ending_ns == 1_000_000_000


def test_a_time_without_a_zone_is_utc() -> None:
    assert parse({"startingTimestamp": "1970-01-01T00:00:01"}).starting_ns == 1_000_000_000


def test_what_spark_adds_is_not_ours() -> None:
    assert parse({"checkpointLocation": "/tmp/x", "queryName": "q"}) == Options()


def test_secrets_are_not_shown() -> None:
    text = repr(parse({"user": "ann", "password": "hidden"}))
    assert "hidden" not in text
    assert "hidden" not in repr(parse({"token": "hidden"}))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"strem": "S"}, "there is no option strem; did you mean stream?"),
        (
            {"startingoffset": "1"},
            "there is no option startingoffset; did you mean startingOffsets?",
        ),
        ({"subscribe": "a"}, "there is no option subscribe; it is called subject here"),
        ({"kafka.bootstrap.servers": "a"}, "it is called servers here"),
        ({"zzz": "1"}, "there is no option zzz; there are servers, user, "),
        ({"stream": "a.b"}, "option stream: 'a.b' is no name of a stream"),
        ({"bucket": "a b"}, "option bucket: 'a b' is no name of a bucket"),
        ({"subject": "a..b"}, "option subject: 'a..b' is no subject"),
        ({"subject": ">.a"}, "option subject: '>.a' is no subject"),
        ({"subject": " , "}, "option subject is empty"),
        ({"startingOffsets": "0"}, "'0' is neither earliest, latest nor a sequence"),
        ({"startingOffsets": "first"}, "'first' is neither earliest, latest nor a sequence"),
        ({"endingOffsets": "earliest"}, "nothing ends at earliest"),
        ({"startingTimestamp": "yesterday"}, "'yesterday' is no time; use milliseconds"),
        ({"minPartitions": "0"}, "option minPartitions: '0' is no number above 0"),
        ({"minPartitions": "1000000"}, "option minPartitions: at most 10000"),
        ({"maxOffsetsPerTrigger": "-1"}, "option maxOffsetsPerTrigger: '-1' is no number above 0"),
        ({"failOnDataLoss": "yes"}, "option failOnDataLoss: 'yes' is neither true nor false"),
        ({"fetch": "fast"}, "option fetch: 'fast' is neither auto, direct nor consumer"),
        ({"tls.ca": "/no/such/file"}, "option tls.ca: there is no file"),
        ({"password": "x"}, "option password needs option user"),
        ({"token": "x", "user": "y"}, "options token and user exclude each other"),
        ({"stream": "S", "bucket": "B"}, "options stream and bucket exclude each other"),
        (
            {"startingOffsets": "1", "startingTimestamp": "1"},
            "options startingOffsets and startingTimestamp exclude each other",
        ),
    ],
)
def test_mistakes(given: dict[str, str], text: str) -> None:
    with pytest.raises(OptionError) as raised:
        parse(given)
    assert text in str(raised.value)


def test_a_certificate_needs_its_key(tmp_path: Path) -> None:
    (tmp_path / "cert").write_text("")
    with pytest.raises(OptionError, match=r"option tls.cert needs option tls.key"):
        parse({"tls.cert": str(tmp_path / "cert")})


def test_a_source_needs_a_stream() -> None:
    with pytest.raises(OptionError, match="option stream is missing"):
        DefaultSource({})


def test_a_bucket_is_no_stream_of_changes() -> None:
    source = DefaultSource({"bucket": "B"})
    with pytest.raises(OptionError, match="read stream KV_B instead"):
        source.streamReader(source.schema())
