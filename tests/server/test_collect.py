"""Collectors: whole reads as lists, in order, and never behind a per-message handler."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jetstream_py.server import runs
from jetstream_py.server.collect import Item
from jetstream_py.server.internal import Internal
from tests.server.harness import Bench


class Part:
    """A part of the server with one collector and one per-message handler that log what they get."""

    def __init__(self, bench: Bench) -> None:
        self.internal = Internal(bench.broker, bench.broker.default_account)
        self.log: list[object] = []

    def take(self, items: list[Item]) -> None:
        self.log.append(items)

    def other(self, items: list[Item]) -> None:
        self.log.append(("other", items))

    def request(self, subject: bytes, *rest: object) -> None:
        self.log.append(subject)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


@pytest.fixture
def part(bench: Bench) -> Part:
    return Part(bench)


HEADERS = b"NATS/1.0\r\n\r\n"


def test_a_read_is_one_list(bench: Bench, part: Part) -> None:
    part.internal.collect(b"s.*", part.take)
    client = bench.client()
    client.send(b"PUB s.a r.1 2\r\nhi\r\nHPUB s.b 12 14\r\n" + HEADERS + b"hi\r\nPUB s.a 0\r\n\r\n")
    client.send(b"PUB s.c 1\r\nx\r\n")
    assert part.log == [
        [(b"s.a", b"r.1", b"", b"hi"), (b"s.b", b"", HEADERS, b"hi"), (b"s.a", b"", b"", b"")],
        [(b"s.c", b"", b"", b"x")],
    ]


@pytest.mark.parametrize("lines", [b"", b"A: 1\r\n", b"A: 1\r\nB: 2\r\n"])
def test_runs_with_headers_are_taken_as_runs(bench: Bench, part: Part, lines: bytes) -> None:
    """All of the read, by the gear for runs; what it gives is what one by one gives (see the fuzz)."""
    part.internal.collect(b"s.*", part.take)
    session = bench.client(b'CONNECT {"headers":true}\r\n').session
    block = b"NATS/1.0\r\n" + lines + b"\r\n"
    items = [(b"s.%d" % (i % 3), b"r.%d" % i, block, b"x" * (i % 5)) for i in range(100)]
    data = b"".join(
        b"HPUB %b %b %d %d\r\n%b%b\r\n" % (s, r, len(h), len(h + d), h, d) for s, r, h, d in items
    )
    assert runs.suits(session, data)
    assert runs.consume(session, data) == len(data)
    bench.broker.collectors.drain()
    assert part.log == [items]
    assert session.in_bytes == sum(len(h + d) for _, _, h, d in items)
    # A block with more lines than the first is another run.
    other = b"HPUB s.a 16 16\r\nNATS/1.0\r\n\r\n\r\n\r\n\r\n"
    assert runs.consume(session, data + other + data) < len(data) * 1.01


def test_two_subjects_of_a_handler_share_one_order(bench: Bench, part: Part) -> None:
    part.internal.collect(b"a", part.take)
    part.internal.collect(b"b", part.take)
    bench.client().send(b"PUB a 1\r\n1\r\nPUB b 1\r\n2\r\nPUB a 1\r\n3\r\n")
    [items] = part.log
    assert isinstance(items, list)
    assert [data for *_, data in items] == [b"1", b"2", b"3"]


def test_a_request_sees_what_was_published_before_it(bench: Bench, part: Part) -> None:
    part.internal.collect(b"s", part.take)
    part.internal.collect(b"t", part.other)
    part.internal.subscribe(b"api", part.request)
    one, two, three = ((name, b"", b"", b"x") for name in (b"s", b"t", b"s"))
    bench.client().send(
        b"PUB s 1\r\nx\r\nPUB t 1\r\nx\r\nPUB api 0\r\n\r\nPUB s 1\r\nx\r\nPUB api 0\r\n\r\n"
    )
    assert part.log == [[one], ("other", [two]), b"api", [three], b"api"]


def test_what_came_before_a_protocol_error_counts(bench: Bench, part: Part) -> None:
    part.internal.collect(b"s", part.take)
    client = bench.client()
    client.send(b"PUB s 1\r\nx\r\nnonsense\r\nPUB s 1\r\ny\r\n")
    assert part.log == [[(b"s", b"", b"", b"x")]]
    assert client.session.closed


def test_clients_on_the_same_subject_get_their_copy(bench: Bench, part: Part) -> None:
    part.internal.collect(b"s.>", part.take)
    client = bench.client()
    assert client.ask(b"SUB s.* 1\r\n" + b"PUB s.a r 1\r\nx\r\n" * 2) == (
        b"MSG s.a 1 r 1\r\nx\r\n" * 2
    )
    assert part.log == [[(b"s.a", b"r", b"", b"x")] * 2]


def test_a_collector_is_a_responder(bench: Bench, part: Part) -> None:
    part.internal.collect(b"s", part.take)
    assert bench.client().ask(b"SUB r 1\r\nPUB s r 0\r\n\r\n") == b""


def test_a_handler_never_runs_inside_itself(bench: Bench, part: Part) -> None:
    """What it publishes to itself comes as a list of its own, when it is through."""
    log: list[object] = []

    def take(items: list[Item]) -> None:
        log.append(("begin", [data for *_, data in items]))
        for *_, data in items:
            if data == b"1":
                part.internal.publish(b"s", b"2")
        log.append("end")

    part.internal.collect(b"s", take)
    bench.client().send(b"PUB s 1\r\n1\r\nPUB s 1\r\n1\r\n")
    assert log == [("begin", [b"1", b"1"]), "end", ("begin", [b"2", b"2"]), "end"]


def test_the_servers_own_publishes_are_handed_over_at_once(bench: Bench, part: Part) -> None:
    part.internal.collect(b"s", part.take)
    part.internal.publish(b"s", b"x", reply=b"r")
    assert part.log == [[(b"s", b"r", b"", b"x")]]


def test_a_handler_that_fails_does_not_stop_the_others(bench: Bench, part: Part) -> None:
    def fail(items: list[Item]) -> None:
        raise RuntimeError("no")

    part.internal.collect(b"s", fail)
    part.internal.collect(b"t", part.take)
    client = bench.client()
    with pytest.raises(RuntimeError):
        client.send(b"PUB s 0\r\n\r\nPUB t 1\r\nx\r\n")
    client.send(b"PUB t 1\r\ny\r\n")
    assert part.log == [[(b"t", b"", b"", b"x"), (b"t", b"", b"", b"y")]]


def test_after_unsubscribing_nothing_comes(bench: Bench, part: Part) -> None:
    subs = [part.internal.collect(name, part.take) for name in (b"s", b"t")]
    client = bench.client()
    part.internal.unsubscribe(subs[0])
    client.send(b"PUB s 0\r\n\r\nPUB t 0\r\n\r\n")
    part.internal.unsubscribe(subs[1])
    client.send(b"PUB t 0\r\n\r\n")
    assert part.log == [[(b"t", b"", b"", b"")]]


def test_acks_fill_no_cache(bench: Bench, part: Part) -> None:
    """Each ack has a subject of its own: one route for all of them, and no line is kept."""
    part.internal.collect(b"$JS.ACK.S.C.>", part.take)
    client = bench.client()
    router = bench.broker.default_account.router
    client.send(b"PUB $JS.ACK.S.C.1.1.1.1.0 0\r\n\r\n")
    resolved = router.resolved
    frames = [b"PUB $JS.ACK.S.C.1.%d.%d.77.0 4\r\n+ACK\r\n" % (i, i) for i in range(500)]
    client.send(b"".join(frames))
    client.send(b"PUB $JS.ACK.S.C.1.2.3.4.0 _INBOX.a.b 4\r\n+ACK\r\n")
    assert router.resolved == resolved
    assert not [line for line in router.lines if b"$JS.ACK" in line]
    _, items, single = part.log
    assert isinstance(items, list)
    assert [subject for subject, *_ in items] == [frame.split()[1] for frame in frames]
    assert single == [(b"$JS.ACK.S.C.1.2.3.4.0", b"_INBOX.a.b", b"", b"+ACK")]


@pytest.mark.parametrize("subject", [b"$JS.ACK.S.C.1..3.4.0", b"$JS.ACK.S.C.1.2.3.4."])
def test_an_ack_with_an_empty_token_reaches_nobody(
    bench: Bench, part: Part, subject: bytes
) -> None:
    part.internal.collect(b"$JS.ACK.S.C.>", part.take)
    client = bench.client()
    client.send(b"PUB $JS.ACK.S.C.1.1.1.1.0 0\r\n\r\n")
    client.send(b"PUB " + subject + b" 0\r\n\r\n")
    assert len(part.log) == 1
