"""Who receives a message, in which order, and how it looks."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.support.raw import RawClient
from tests.support.server import Server
from tests.support.wire import PONG, QUIET, connect, messages, msg, pub


def subscribers(server: Server, stack: ExitStack, *lines: bytes) -> list[RawClient]:
    """One quiet connection per line, all subscribed when this returns."""
    clients = [stack.enter_context(server.client(QUIET + line)) for line in lines]
    for client in clients:
        client.exchange()
    return clients


def deliveries(clients: list[RawClient]) -> list[int]:
    return [len(messages(client.exchange())) for client in clients]


@pytest.mark.behaviour("CORE-042")
def test_one_member_of_a_queue_group_receives(server: Server) -> None:
    with ExitStack() as stack:
        members = subscribers(server, stack, *[b"SUB job q 1\r\n"] * 3)
        members[0].exchange(pub(b"job", b"x"))
        assert sorted(deliveries(members[1:])) in ([0, 0], [0, 1])


@pytest.mark.behaviour("CORE-042")
def test_a_queue_group_receives_each_message_once(server: Server) -> None:
    with ExitStack() as stack:
        members = subscribers(server, stack, *[b"SUB job q 1\r\n"] * 3)
        with server.client(QUIET) as publisher:
            publisher.exchange(pub(b"job") * 30)
        assert sum(deliveries(members)) == 30


@pytest.mark.behaviour("CORE-043")
def test_plain_subscribers_get_a_copy_besides_the_group(server: Server) -> None:
    with ExitStack() as stack:
        lines = [b"SUB mixed 1\r\n", b"SUB mixed 1\r\n", b"SUB mixed q 1\r\n", b"SUB mixed q 1\r\n"]
        clients = subscribers(server, stack, *lines)
        with server.client(QUIET) as publisher:
            publisher.exchange(pub(b"mixed") * 10)
        first, second, *members = deliveries(clients)
        assert (first, second, sum(members)) == (10, 10, 10)


@pytest.mark.behaviour("CORE-044")
def test_each_group_gets_one_copy(server: Server) -> None:
    with ExitStack() as stack:
        lines = [b"SUB two.groups q1 1\r\n"] * 2 + [b"SUB two.* q2 1\r\n"] * 2
        clients = subscribers(server, stack, *lines)
        with server.client(QUIET) as publisher:
            publisher.exchange(pub(b"two.groups") * 10)
        counts = deliveries(clients)
        assert (sum(counts[:2]), sum(counts[2:])) == (10, 10)


def test_one_group_over_different_subjects_gets_one_copy(server: Server) -> None:
    with ExitStack() as stack:
        lines = [b"SUB wide.a q 1\r\n", b"SUB wide.* q 1\r\n", b"SUB wide.> q 1\r\n"]
        clients = subscribers(server, stack, *lines)
        with server.client(QUIET) as publisher:
            publisher.exchange(pub(b"wide.a") * 30)
        assert sum(deliveries(clients)) == 30


@pytest.mark.behaviour("CORE-045")
def test_members_share_the_work_roughly_evenly(server: Server) -> None:
    with ExitStack() as stack:
        members = subscribers(server, stack, *[b"SUB even q 1\r\n"] * 4)
        with server.client(QUIET) as publisher:
            publisher.exchange(pub(b"even") * 1000)
        counts = deliveries(members)
        assert sum(counts) == 1000
        assert min(counts) > 150  # 250 expected, with a deviation of 14


@pytest.mark.behaviour("CORE-046")
def test_the_system_queue_group_is_reserved(server: Server) -> None:
    refusal = b'-ERR \'Permissions Violation for Subscription to "a" using queue "_sys_"\'\r\n'
    assert server.talk(QUIET + b"SUB a _sys_ 3\r\n" + pub(b"a") + b"PING\r\n") == refusal + PONG


@pytest.mark.behaviour("CORE-047")
def test_messages_of_one_publisher_arrive_in_order(server: Server) -> None:
    numbered = [b"%d" % number for number in range(2000)]
    with ExitStack() as stack:
        near, far = subscribers(server, stack, b"SUB order 1\r\n", b"SUB > 2\r\n")
        with server.client(QUIET) as publisher:
            publisher.exchange(b"".join(pub(b"order", number) for number in numbered))
        assert near.exchange() == b"".join(msg(b"order", 1, number) for number in numbered)
        assert far.exchange() == b"".join(msg(b"order", 2, number) for number in numbered)


@pytest.mark.behaviour("CORE-048")
@pytest.mark.parametrize("reply", [b"r", b"_INBOX.a.b", b"b.*", b".b", b"\xc3\xa9", b"a"])
def test_reply_is_passed_unchanged(server: Server, reply: bytes) -> None:
    sent = connect(pedantic=True) + b"SUB a 1\r\n" + pub(b"a", b"x", reply)
    assert server.talk(sent) == msg(b"a", 1, b"x", reply)


@pytest.mark.parametrize("reply", [b"_R_.x", b"_GR_.x", b"$JS.ACK.x"])
def test_reserved_reply_is_refused(server: Server, reply: bytes) -> None:
    refusal = b"-ERR 'Permissions Violation for Publish with Reply of \"" + reply + b"\"'\r\n"
    assert server.talk(QUIET + b"SUB a 1\r\n" + pub(b"a", b"", reply) + b"PING\r\n") == (
        refusal + PONG
    )


@pytest.mark.behaviour("CORE-049")
def test_empty_payload_is_delivered(server: Server) -> None:
    assert server.talk(QUIET + b"SUB a 1\r\nPUB a 0\r\n\r\n") == b"MSG a 1 0\r\n\r\n"


@pytest.mark.parametrize("payload", [b"\r\n", b"PING\r\nPUB a 5\r\n", bytes(range(256)), b"\x00"])
def test_payload_is_not_looked_into(server: Server, payload: bytes) -> None:
    assert server.talk(QUIET + b"SUB a 1\r\n" + pub(b"a", payload)) == msg(b"a", 1, payload)


@pytest.mark.behaviour("CORE-062")
def test_pong_comes_after_everything_queued_before_it(server: Server) -> None:
    payload = b"x" * 1000
    with server.client(QUIET + b"SUB burst 1\r\n") as client:
        answer = client.exchange(pub(b"burst", payload) * 3000)
    assert answer == msg(b"burst", 1, payload) * 3000


@pytest.mark.behaviour("CORE-062")
def test_pong_covers_messages_of_others(server: Server) -> None:
    with server.client(QUIET + b"SUB burst 1\r\n") as client, server.client(QUIET) as publisher:
        client.exchange()
        publisher.exchange(pub(b"burst", b"y" * 100) * 1000)
        assert client.exchange() == msg(b"burst", 1, b"y" * 100) * 1000


def test_one_message_to_many_subscriptions_of_one_client(server: Server) -> None:
    lines = b"SUB fan.out 1\r\nSUB fan.* 2\r\nSUB fan.> 3\r\nSUB > 4\r\nSUB fan.out q 5\r\n"
    answer = messages(server.talk(QUIET + lines + pub(b"fan.out", b"x")))
    assert sorted(answer) == [msg(b"fan.out", sid, b"x") for sid in range(1, 6)]
