"""The bodies of pull requests: what counts as one, and what nats-server says of the others."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from jetstream_py import limits
from jetstream_py.api import next_request
from jetstream_py.api.next_request import BadRequest, NextRequest, parse_next
from tests.api.oracle import Oracle
from tests.support.wire import pub

DEFAULT = NextRequest()
READ: list[tuple[bytes, NextRequest]] = [
    (b"", DEFAULT),
    (b" ", DEFAULT),
    (b"text", DEFAULT),
    (b"[5]", DEFAULT),
    (b"null", DEFAULT),
    (b"\xff", DEFAULT),
    (b"0", DEFAULT),
    (b"-5", DEFAULT),
    (b"1.5", DEFAULT),
    (b"99999999999999999999", DEFAULT),
    (b"5", NextRequest(5)),
    (b"+5", NextRequest(5)),
    (b" 05\r\n", NextRequest(5)),
    (b"{}", NextRequest(0, json=True)),
    (b'{"batch":-3}', NextRequest(-3, json=True)),
    (b' {"batch":5,"no_wait":true}', NextRequest(5, no_wait=True, json=True)),
    (b'{"batch":1,"batch":2}', NextRequest(2, json=True)),
    (b'{"Batch":5,"EXPIRES":7}', NextRequest(5, 7, json=True)),
    (b'{"batch":null,"group":null}', NextRequest(0, json=True)),
    (b'{"batch":5,"other":{"a":[1.5e3]}}', NextRequest(5, json=True)),
    (b'{"group":"\xff"}', NextRequest(0, group="\ufffd", json=True)),
    (
        b'{"batch":1,"expires":2,"no_wait":true,"max_bytes":3,"idle_heartbeat":4,"group":"g",'
        b'"id":"i","min_pending":5,"min_ack_pending":6,"priority":7}',
        NextRequest(1, 2, True, 3, 4, "g", "i", 5, 6, 7, True),
    ),
]
BAD: list[bytes] = [
    b"{",
    b" {",
    b'{"a"',
    b'{"batch":1',
    b'{"batch":1}x',
    b'{"batch":1} {"batch":2}',
    b'{"batch":1.0}',
    b'{"batch":1e2}',
    b'{"batch":"x"}',
    b'{"batch":true}',
    b'{"batch":99999999999999999999}',
    b'{"expires":"1s"}',
    b'{"expires":1.5}',
    b'{"no_wait":1}',
    b'{"max_bytes":[]}',
    b'{"idle_heartbeat":{}}',
    b'{"group":1}',
    b'{"id":false}',
    b'{"min_pending":"a"}',
    b'{"min_ack_pending":9223372036854775808}',
    b'{"priority":"x"}',
    b"{batch:1}",
    b'{"batch":01}',
    b'{"batch":1,}',
]


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    next_request._cache.clear()
    yield
    next_request._cache.clear()


@pytest.fixture(scope="module")
def consumer(jetstream: Oracle) -> Oracle:
    """A stream without messages, so that only refusals are answered."""
    jetstream.config("CREATE", "NEXT", {"name": "NEXT", "subjects": ["next"]})
    body = {"stream_name": "NEXT", "config": {"durable_name": "C", "ack_policy": "explicit"}}
    jetstream.request("CONSUMER.CREATE.NEXT.C", body)
    return jetstream


@pytest.mark.parametrize(("body", "expected"), READ)
def test_requests(body: bytes, expected: NextRequest) -> None:
    assert parse_next(body) == expected
    assert parse_next(body) is parse_next(body)


@pytest.mark.parametrize("body", BAD)
def test_what_is_none(consumer: Oracle, body: bytes) -> None:
    with pytest.raises(BadRequest) as bad:
        parse_next(body)
    assert f"400 Bad Request - {bad.value}" == status(consumer, body)


def status(oracle: Oracle, body: bytes) -> str:
    """The status that nats-server answers with."""
    oracle.requests += 1
    inbox = b"inbox.%d" % oracle.requests
    oracle.client.send(pub(b"$JS.API.CONSUMER.MSG.NEXT.NEXT.C", body, reply=inbox))
    while not (frame := oracle.client.read_frame()).startswith(b"HMSG " + inbox):
        pass
    return frame.split(b"\r\n")[1].removeprefix(b"NATS/1.0 ").decode()


def test_the_quick_way_reads_as_the_other() -> None:
    """Whatever msgspec takes, the decoder that knows Go's ways takes for the same."""
    rng = random.Random(2151)
    names = [*next_request._Body.__struct_fields__, "other", "Batch"]
    values = ["0", "1", "-7", "true", "false", "null", '"a"', "1.0", "1e1", "{}", "[]", "9" * 19]
    for _ in range(3000):
        pairs = (f'"{rng.choice(names)}": {rng.choice(values)}' for _ in range(rng.randint(0, 4)))
        body = f"{{{', '.join(pairs)}}}".encode()
        quick = next_request._plain(body)
        if quick is not None:
            slow = next_request._as_go_does(body)
            assert [getattr(quick, name) for name in names[:-2]] == [
                getattr(slow, name) for name in names[:-2]
            ], body


def test_what_is_remembered_is_bounded() -> None:
    for batch in range(limits.NEXT_CACHE * 2 + 10):
        parse_next(b"%d" % batch)
        assert len(next_request._cache) <= limits.NEXT_CACHE
    before = len(next_request._cache)
    parse_next(b'{"group":"%b"}' % (b"x" * limits.NEXT_CACHE_LEN))
    assert len(next_request._cache) == before
