"""Answers, byte for byte: what nats-server says and what our structs encode to."""

from __future__ import annotations

import re
from typing import Final

import msgspec
import pytest

from jetstream_py.api import consumer_responses as cr
from jetstream_py.api import responses as r
from jetstream_py.api.errors import error
from jetstream_py.api.times import ZERO_TIME, parse_time, time_text
from jetstream_py.api.types import (
    AccountInfo,
    ApiStats,
    ClusterInfo,
    StoredMessage,
    StreamConfig,
    StreamInfo,
    StreamState,
)
from tests.api.oracle import Oracle

_TIME: Final = re.compile(rb'"(created|ts|first_ts|last_ts|time)":"2[^"]+"')
HEADERS: Final = b"NATS/1.0\r\nA: 1\r\n\r\n"
_LEADER: Final = re.compile(rb'"leader":"[^"]+"')


def normal(answer: bytes) -> bytes:
    """Without what differs from run to run."""
    return _LEADER.sub(b'"leader":"L"', _TIME.sub(rb'"\1":"T"', answer))


@pytest.fixture(scope="module")
def stream(jetstream: Oracle) -> Oracle:
    """A stream with messages 1, 3 and 4 on two subjects, the first with a header."""
    jetstream.request("STREAM.CREATE.ANSWERS", {"name": "ANSWERS", "subjects": ["ans.>"]})
    jetstream.publish("ans.0", b"hi", HEADERS)
    for subject in ("ans.1", "ans.0", "ans.1"):
        jetstream.publish(subject, b"")
    jetstream.request("STREAM.MSG.DELETE.ANSWERS", {"seq": 2})
    return jetstream


def info(stream: Oracle, state: StreamState, **values: object) -> StreamInfo:
    text = stream.config("UPDATE", "ANSWERS", {"name": "ANSWERS", "subjects": ["ans.>"]})
    config = msgspec.json.decode(text.encode(), type=StreamConfig)
    whole = StreamInfo(config=config, created="T", state=state, ts="T")
    return msgspec.structs.replace(whole, **values)


def test_stream_created(jetstream: Oracle) -> None:
    answer = jetstream.request("STREAM.CREATE.FRESH", {"name": "FRESH"})
    text = answer[answer.index(b'"config":') + 9 : answer.index(b',"created":')]
    config = msgspec.json.decode(text, type=StreamConfig)
    ours = StreamInfo(config=config, created="T", state=StreamState(), ts="T")
    assert r.stream_created(ours) == normal(answer)
    jetstream.delete("FRESH")


def test_stream_info(stream: Oracle) -> None:
    answer = stream.request(
        "STREAM.INFO.ANSWERS", {"deleted_details": True, "subjects_filter": ">"}
    )
    state = StreamState(
        messages=3,
        bytes=129,
        first_seq=1,
        first_ts="T",
        last_seq=4,
        last_ts="T",
        num_subjects=2,
        subjects={"ans.1": 1, "ans.0": 2},
        num_deleted=1,
        deleted=[2],
    )
    whole = info(stream, state, cluster=ClusterInfo(leader="L"))
    assert r.stream_info(whole, total=2, offset=0, limit=100_000) == normal(answer)


def test_message(stream: Oracle) -> None:
    for seq, message in (
        (
            1,
            StoredMessage(subject="ans.0", seq=1, hdrs=HEADERS, data=b"hi", time="T"),
        ),
        (4, StoredMessage(subject="ans.1", seq=4, time="T")),
    ):
        answer = stream.request("STREAM.MSG.GET.ANSWERS", {"seq": seq})
        assert r.encode(r.MsgGetResponse(message=message)) == normal(answer)


def test_lists_without_streams(jetstream: Oracle) -> None:
    assert jetstream.request("STREAM.NAMES", {"subject": "nobody"}) == r.encode(
        r.StreamNamesResponse(limit=1024)
    )
    assert jetstream.request("STREAM.LIST", {"subject": "nobody"}) == r.encode(
        r.StreamListResponse(limit=256)
    )


def test_lists(stream: Oracle) -> None:
    assert stream.request("STREAM.NAMES", {"subject": "ans.x"}) == r.encode(
        r.StreamNamesResponse(total=1, limit=1024, streams=["ANSWERS"])
    )


def test_account_info(jetstream: Oracle) -> None:
    answer = jetstream.request("INFO")
    numbers = msgspec.json.decode(answer)
    ours = AccountInfo(
        storage=numbers["storage"],
        streams=numbers["streams"],
        consumers=numbers["consumers"],
        api=ApiStats(level=5, total=numbers["api"]["total"], errors=numbers["api"]["errors"]),
    )
    assert r.account_info(ours) == answer


FAILURES: Final[tuple[tuple[str, str, type[r.Response], int], ...]] = (
    ("STREAM.CREATE.X", "{}", r.StreamCreateResponse, 10056),
    ("STREAM.UPDATE.X", '{"name":"X"}', r.StreamUpdateResponse, 10059),
    ("STREAM.INFO.X", "", r.StreamInfoResponse, 10059),
    ("STREAM.DELETE.X", "", r.StreamDeleteResponse, 10059),
    ("STREAM.PURGE.X", "", r.StreamPurgeResponse, 10059),
    ("STREAM.MSG.GET.X", '{"seq":1}', r.MsgGetResponse, 10059),
    ("STREAM.MSG.DELETE.X", '{"seq":1}', r.MsgDeleteResponse, 10059),
    ("STREAM.PEER.REMOVE.X", "", r.StreamRemovePeerResponse, 10010),
    ("STREAM.LEADER.STEPDOWN.X", "", r.StreamLeaderStepdownResponse, 10010),
    ("CONSUMER.CREATE.X.C", '{"stream_name":"X"}', cr.ConsumerCreateResponse, 10059),
    ("CONSUMER.INFO.X.C", "", cr.ConsumerInfoResponse, 10059),
    ("CONSUMER.NAMES.X", "", cr.ConsumerNamesResponse, 10059),
    ("CONSUMER.LIST.X", "", cr.ConsumerListResponse, 10059),
    ("CONSUMER.DELETE.X.C", "", cr.ConsumerDeleteResponse, 10059),
    ("CONSUMER.PAUSE.X.C", "", cr.ConsumerPauseResponse, 10059),
    ("CONSUMER.UNPIN.X.C", '{"group":"g"}', cr.ConsumerUnpinResponse, 10059),
    ("CONSUMER.LEADER.STEPDOWN.X.C", "", cr.ConsumerLeaderStepdownResponse, 10010),
)


@pytest.mark.parametrize(("subject", "body", "kind", "code"), FAILURES)
def test_failures(
    jetstream: Oracle, subject: str, body: str, kind: type[r.Response], code: int
) -> None:
    assert jetstream.request(subject, body) == r.failure(kind, error(code))


@pytest.mark.parametrize("subject", ["STREAM.NAMES", "STREAM.LIST"])
def test_failing_lists(jetstream: Oracle, subject: str) -> None:
    kind = r.StreamNamesResponse if subject.endswith("NAMES") else r.StreamListResponse
    assert jetstream.request(subject, "[") == r.failure(kind, error(10025, err="unexpected EOF"))


def test_successes(stream: Oracle) -> None:
    for subject, body, ours in (
        ("STREAM.PURGE.ANSWERS", '{"seq":1}', r.StreamPurgeResponse(success=True)),
        ("STREAM.MSG.DELETE.ANSWERS", '{"seq":1}', r.MsgDeleteResponse(success=True)),
        ("STREAM.DELETE.ANSWERS", "", r.StreamDeleteResponse(success=True)),
    ):
        assert stream.request(subject, body) == r.encode(ours)


def test_acknowledgements() -> None:
    assert r.pub_ack_start("P") + b"1}" == b'{"stream":"P","seq":1}'
    assert r.pub_ack_start('a<"b', "D") + b"7}" == b'{"stream":"a<\\"b","domain":"D","seq":7}'
    assert r.pub_ack_error("a<b", error(10060)) == (
        b'{"error":{"code":400,"err_code":10060,"description":"expected stream does not match"},'
        b'"stream":"a\\u003cb","seq":0}'
    )


# -- times -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00:00.5+01:00", 500_000_000),
        ("2024-02-29T12:34:56.000000789Z", 1_709_210_096_000_000_789),
        ("1969-12-31T23:59:59.999999999Z", -1),
        (ZERO_TIME, -62_135_596_800_000_000_000),
        ("0000-12-31T00:00:00Z", -62_135_683_200_000_000_000),
    ],
)
def test_times(text: str, ns: int) -> None:
    assert parse_time(text) == ns


def test_time_texts() -> None:
    assert time_text(None) == ZERO_TIME
    assert time_text(1_709_210_096_000_000_789) == "2024-02-29T12:34:56.000000789Z"
