"""/subsz on a broker of plain records."""

from __future__ import annotations

import pytest

from jetstream_py.server.monitor.query import BadRequest, parse_query
from jetstream_py.server.monitor.subsz import Subsz, SubszOptions, subsz
from tests.monitor.fakes import FakeAccount, FakeBroker, FakeRoute


def ask(broker: FakeBroker, query: str = "") -> Subsz:
    return subsz(broker, SubszOptions.from_query(parse_query(query)))


def subjects(broker: FakeBroker, query: str) -> list[str]:
    return [each.subject for each in ask(broker, query).subscriptions_list or []]


@pytest.fixture
def broker() -> FakeBroker:
    broker = FakeBroker()
    broker.accounts["A"] = FakeAccount("A")
    session = broker.connect(5)
    broker.subscribe(session, b"foo.*", msgs=3)
    broker.subscribe(session, b"foo.bar", b"q", max=2)
    broker.subscribe(broker.connect(6, account="A"), b">")
    return broker


def test_statistics(broker: FakeBroker) -> None:
    router = broker.accounts["$G"].router
    router.resolved = 2
    broker.accounts["$G"].gone[0] = 5
    broker.sessions[5].in_msgs = 3
    first, second = router.sublist.subs
    router.routes = [FakeRoute((first,), ((second,),)), FakeRoute(), FakeRoute((first,))]
    answer = ask(broker)
    assert (answer.num_subscriptions, answer.num_inserts, answer.num_removes) == (3, 3, 0)
    assert (answer.num_matches, answer.cache_hit_rate) == (8, 0.75)
    assert (answer.num_cache, answer.max_fanout, answer.avg_fanout) == (3, 2, 1)
    assert (answer.total, answer.subscriptions_list or None) == (0, None)


def test_an_idle_server_divides_by_nothing() -> None:
    answer = ask(FakeBroker())
    assert (answer.cache_hit_rate, answer.max_fanout, answer.avg_fanout) == (0, 0, 0)


def test_list(broker: FakeBroker) -> None:
    answer = ask(broker, "subs=1")
    assert answer.total == 3
    first, second, third = answer.subscriptions_list or []
    assert (first.account, first.account_tag, first.subject, first.sid) == (
        "$G",
        "$G",
        "foo.*",
        "1",
    )
    assert (first.msgs, first.cid) == (3, 5)
    assert (second.qgroup, second.max) == ("q", 2)
    assert (third.account, third.cid) == ("A", 6)


def test_by_account(broker: FakeBroker) -> None:
    answer = ask(broker, "acc=A&subs=1")
    assert (answer.num_subscriptions, answer.total) == (1, 1)
    nobody = ask(broker, "acc=nope&subs=1")
    assert (nobody.num_subscriptions, nobody.num_matches, nobody.server_id) == (0, 0, "NSERVER")


def test_by_subject(broker: FakeBroker) -> None:
    assert subjects(broker, "subs=1&test=foo.bar") == ["foo.*", "foo.bar", ">"]
    assert subjects(broker, "subs=1&limit=1&offset=1&test=foo.bar") == ["foo.bar"]
    assert subjects(broker, "subs=1&test=foo.x&acc=$G") == ["foo.*"]
    assert ask(broker, "subs=1&test=foo.x").total == 2
    assert ask(broker, "test=foo.x").total == 0


@pytest.mark.parametrize("subject", ["a..b", "a.*", ">", ".a"])
def test_the_test_subject_must_be_one_to_publish_to(broker: FakeBroker, subject: str) -> None:
    with pytest.raises(BadRequest) as complaint:
        ask(broker, f"test={subject}")
    assert str(complaint.value) == (
        f"invalid test subject, must be valid publish subject: {subject}"
    )


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("limit=1", ["foo.*"]),
        ("limit=1&offset=1", ["foo.bar"]),
        ("offset=3", []),
        ("limit=-4&offset=-4", ["foo.*", "foo.bar", ">"]),
        ("offset=9223372036854775807", []),
    ],
)
def test_pages(broker: FakeBroker, query: str, found: list[str]) -> None:
    assert subjects(broker, f"subs=1&{query}") == found
    assert ask(broker, f"subs=1&{query}").total == 3


def test_first_complaint_wins(broker: FakeBroker) -> None:
    with pytest.raises(BadRequest, match="Error decoding boolean for 'subs'"):
        ask(broker, "subs=detail&offset=x&limit=x&test=a..b")
