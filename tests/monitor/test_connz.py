"""/connz on a broker of plain records."""

from __future__ import annotations

import pytest

from jetstream_py.server.connect import ConnectOptions
from jetstream_py.server.monitor import connz as module
from jetstream_py.server.monitor.conninfo import round_trip
from jetstream_py.server.monitor.connz import Connz, ConnzOptions, connz, orders
from jetstream_py.server.monitor.page import PAGE_MAX
from jetstream_py.server.monitor.query import BadRequest, parse_query
from tests.monitor.fakes import FakeAccount, FakeBroker


def ask(broker: FakeBroker, query: str = "") -> Connz:
    return connz(broker, ConnzOptions.from_query(parse_query(query)))


def cids(broker: FakeBroker, query: str = "") -> list[int]:
    return [each.cid for each in ask(broker, query).connections or []]


@pytest.fixture
def broker() -> FakeBroker:
    return FakeBroker()


@pytest.fixture
def three(broker: FakeBroker) -> FakeBroker:
    """Connections 5, 6 and 7; every order by value differs from the order by cid."""
    base = broker.clock.now_ns()
    a = broker.connect(5, in_msgs=2, in_bytes=30, out_msgs=1, out_bytes=20, pending=7, rtt=0.002)
    b = broker.connect(6, in_msgs=3, in_bytes=10, out_msgs=3, out_bytes=10, pending=9, rtt=0.003)
    c = broker.connect(7, in_msgs=1, in_bytes=20, out_msgs=2, out_bytes=30, pending=8)
    a.start_ns, b.start_ns, c.start_ns = base + 2, base + 3, base + 1
    a.last_activity_ns, b.last_activity_ns, c.last_activity_ns = base + 12, base + 11, base + 13
    for session, count in ((a, 1), (b, 3), (c, 2)):
        for i in range(count):
            broker.subscribe(session, b"s.%d" % i)
    broker.clock.advance(1)
    return broker


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", [5, 6, 7]),
        ("cid", [5, 6, 7]),
        ("start", [7, 5, 6]),
        ("subs", [6, 7, 5]),
        ("pending", [6, 7, 5]),
        ("msgs_to", [6, 7, 5]),
        ("msgs_from", [6, 5, 7]),
        ("bytes_to", [7, 5, 6]),
        ("bytes_from", [5, 7, 6]),
        ("last", [7, 5, 6]),
        ("idle", [6, 5, 7]),
        ("uptime", [6, 5, 7]),
        ("rtt", [6, 5, 7]),
    ],
)
def test_orders(three: FakeBroker, sort: str, order: list[int]) -> None:
    assert cids(three, f"sort={sort}") == order


def test_equals_stay_in_the_order_of_their_ids(broker: FakeBroker) -> None:
    for cid in (9, 7, 8):
        broker.connect(cid)
    for sort in orders(broker, 0).keys() - {"stop", "reason"}:
        assert cids(broker, f"sort={sort}") == [7, 8, 9], sort


def test_orders_of_the_closed(broker: FakeBroker) -> None:
    for cid, reason in ((5, "Read Error"), (6, "Client Closed"), (7, "Stale Connection")):
        broker.connect(cid)
        broker.clock.advance(1)
        broker.leave(broker.sessions[cid], reason)
    assert cids(broker, "state=closed") == [5, 6, 7]
    assert cids(broker, "state=closed&sort=stop") == [7, 6, 5]
    assert cids(broker, "state=closed&sort=reason") == [6, 5, 7]
    assert cids(broker, "state=closed&sort=uptime") == [5, 6, 7]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("sort=foo", "invalid sorting option: foo"),
        ("sort=CID", "invalid sorting option: CID"),
        ("sort=stop", "sort by stop only valid on closed connections"),
        ("sort=reason&state=any", "sort by reason only valid on closed connections"),
        ("state=foo", "Error decoding state for foo"),
        ("sort=foo&state=bar", "Error decoding state for bar"),
        (
            "auth=x&limit=x",
            """Error decoding boolean for 'auth': strconv.ParseBool: parsing "x": invalid syntax""",
        ),
        (
            "limit=x&offset=y",
            """Error decoding int for 'offset': strconv.Atoi: parsing "y": invalid syntax""",
        ),
        (
            "cid=-1",
            """Error decoding uint64 for 'cid': strconv.ParseUint: parsing "-1": invalid syntax""",
        ),
    ],
)
def test_complaints(broker: FakeBroker, query: str, text: str) -> None:
    with pytest.raises(BadRequest) as complaint:
        ask(broker, query)
    assert str(complaint.value) == text


@pytest.mark.parametrize(
    ("query", "offset", "limit", "found"),
    [
        ("", 0, 1024, [5, 6, 7]),
        ("limit=2", 0, 2, [5, 6]),
        ("limit=2&offset=2", 2, 2, [7]),
        ("offset=3", 3, 1024, []),
        ("limit=-1&offset=-5", 0, 1024, [5, 6, 7]),
        ("limit=0", 0, 1024, [5, 6, 7]),
        ("limit=9223372036854775807", 0, PAGE_MAX, [5, 6, 7]),
        ("offset=9223372036854775807", 2**63 - 1, 1024, []),
        ("limit=2&offset=1&sort=subs", 1, 2, [7, 5]),
    ],
)
def test_pages(three: FakeBroker, query: str, offset: int, limit: int, found: list[int]) -> None:
    answer = ask(three, query)
    assert (answer.offset, answer.limit, answer.total) == (offset, limit, 3)
    assert cids(three, query) == found
    assert answer.num_connections == len(found)


def test_one_connection_by_id(three: FakeBroker) -> None:
    answer = ask(three, "cid=6&limit=9")
    assert (answer.total, answer.num_connections, answer.limit) == (3, 1, 1)
    assert cids(three, "cid=6") == [6]
    assert cids(three, "cid=99") == []
    assert cids(three, "cid=6&offset=1") == []
    three.leave(three.sessions[6])
    assert cids(three, "cid=6") == []
    assert cids(three, "cid=6&state=closed") == [6]
    assert cids(three, "cid=6&state=any") == [6]


def test_states(three: FakeBroker) -> None:
    three.leave(three.sessions[6])
    assert cids(three) == cids(three, "state=OPEN") == cids(three, "state=") == [5, 7]
    assert cids(three, "state=closed") == [6]
    assert cids(three, "state=any") == cids(three, "state=all") == [5, 6, 7]
    assert ask(three, "state=any").total == 3


def test_by_account(broker: FakeBroker) -> None:
    broker.accounts["A"] = FakeAccount("A")
    broker.connect(5)
    broker.connect(6, account="A")
    broker.leave(broker.connect(7, account="A"))
    assert cids(broker, "acc=A") == [6]
    assert cids(broker, "acc=A&state=any") == [6, 7]
    assert ask(broker, "acc=A").total == 1
    assert ask(broker, "acc=$SYS").connections == []


def test_the_closed_of_the_global_account_are_not_found_by_it(broker: FakeBroker) -> None:
    broker.connect(5)
    broker.leave(broker.connect(6))
    assert cids(broker, "acc=$G&state=any") == [5]
    assert cids(broker, "state=any") == [5, 6]


def test_nobody_is_an_mqtt_client(broker: FakeBroker) -> None:
    broker.connect(5)
    assert cids(broker, "mqtt_client=x") == []
    assert ask(broker, "mqtt_client=x").total == 1


def test_an_unknown_account_has_no_server(broker: FakeBroker) -> None:
    answer = ask(broker, "acc=nope&cid=3")
    assert (answer.server_id, answer.connections, answer.limit) == ("", None, 1)


def test_by_user_and_who_it_is(broker: FakeBroker) -> None:
    broker.connect(5, user="u1", connect=ConnectOptions(user="u1"))
    broker.connect(6, connect=ConnectOptions(auth_token="secret"))
    broker.connect(7, user="default")
    broker.connect(8, connect=ConnectOptions(nkey="UABC", auth_token="secret"))
    broker.leave(broker.connect(9, connect=ConnectOptions(user="u1")), "Authentication Failure")
    shown = {each.cid: each for each in ask(broker, "auth=1&state=any").connections or []}
    names = [shown[cid].authorized_user for cid in (5, 6, 7, 8, 9)]
    assert names == ["u1", "[REDACTED]", "default", "UABC", "u1"]
    assert cids(broker, "user=u1&state=any") == [5, 9]
    assert ask(broker, "user=u1").total == 4  # the search does not change the total
    assert b"secret" not in repr(shown).encode()


def test_accounts_are_shown_unless_global(broker: FakeBroker) -> None:
    broker.accounts["A"] = FakeAccount("A")
    for cid, name in ((5, "$G"), (6, "A"), (7, "$G"), (8, "A")):
        broker.connect(cid, account=name)
    for cid in (7, 8):
        broker.leave(broker.sessions[cid])
    plain = ask(broker, "state=any").connections or []
    assert not any(each.account or each.name_tag or each.authorized_user for each in plain)
    shown = [
        (each.account, each.name_tag) for each in ask(broker, "auth=1&state=any").connections or []
    ]
    assert [(a or None, tag or None) for a, tag in shown] == [
        (None, "$G"),
        ("A", "A"),
        (None, None),
        ("A", "A"),
    ]


def test_subscriptions(broker: FakeBroker) -> None:
    session = broker.connect(5)
    broker.subscribe(session, b"foo", msgs=3)
    broker.subscribe(session, b"bar.*", b"q", max=5)
    broker.connect(6)
    listed, empty = ask(broker, "subs=1").connections or []
    assert listed.subscriptions_list == ["foo", "bar.*"]
    assert not listed.subscriptions_list_detail
    assert not empty.subscriptions_list
    (detailed,) = ask(broker, "subs=DETAIL&cid=5").connections or []
    first, second = detailed.subscriptions_list_detail or []
    assert (first.subject, first.sid, first.msgs, first.cid) == ("foo", "1", 3, 5)
    assert not any((first.qgroup, first.max, first.account))
    assert (second.qgroup, second.max) == ("q", 5)


def test_subscriptions_of_the_closed_name_the_account_and_no_limit(broker: FakeBroker) -> None:
    session = broker.connect(5)
    broker.subscribe(session, b"foo", msgs=3, max=9)
    broker.leave(session)
    closed = (ask(broker, "state=closed&subs=detail").connections or [])[0]
    (sub,) = closed.subscriptions_list_detail or []
    assert (sub.account, sub.account_tag, sub.msgs) == ("$G", "$G", 3)
    assert not sub.max


def test_times(broker: FakeBroker) -> None:
    session = broker.connect(5, rtt=0.000_785_9)
    broker.clock.advance(60)
    session.last_activity_ns = broker.clock.now_ns()
    broker.clock.advance(65)
    (info,) = ask(broker).connections or []
    assert (info.uptime, info.idle, info.rtt) == ("2m5s", "1m5s", "785µs")
    assert info.start == "2023-11-14T22:13:20Z"
    broker.leave(session, "Stale Connection")
    broker.clock.advance(1000)
    (info,) = ask(broker, "state=closed").connections or []
    assert (info.uptime, info.idle, info.reason) == ("2m5s", "1m5s", "Stale Connection")
    assert info.stop == "2023-11-14T22:15:25Z"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "0s"),
        (0.000_000_3, "0s"),
        (0.000_186_7, "186µs"),
        (0.001_545_38, "1.54538ms"),
        (1.5, "1.5s"),
    ],
)
def test_round_trip(seconds: float | None, text: str) -> None:
    assert round_trip(seconds) == text


def test_stalls_are_told_when_there_were_any(broker: FakeBroker) -> None:
    broker.connect(5)
    broker.connect(6, stalls=2)
    assert [each.stalls or 0 for each in ask(broker).connections or []] == [0, 2]


def test_a_full_house_is_described_one_page_at_a_time(broker: FakeBroker) -> None:
    for cid in range(5, 5000):
        broker.connect(cid)
    answer = ask(broker)
    assert (answer.total, answer.num_connections) == (4995, 1024)


def test_subscriptions_are_listed_as_far_as_there_is_room(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SUBS_MAX", 3)
    for cid in (5, 6, 7):
        for subject in (b"a", b"b"):
            broker.subscribe(broker.sessions.get(cid) or broker.connect(cid), subject)
    listed = [each.subscriptions_list or [] for each in ask(broker, "subs=1").connections or []]
    assert listed == [["a", "b"], ["a"], []]
    assert [each.subscriptions for each in ask(broker, "subs=1").connections or []] == [2, 2, 2]
