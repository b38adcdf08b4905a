"""The trie and its caches against a judge that asks every subscription in turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetstream_py import limits
from jetstream_py.server.router import Router
from jetstream_py.server.sublist import Sub, Sublist
from jetstream_py.subject import is_literal, is_valid, is_valid_literal, matches
from tests.server.harness import Bench, Client

token = st.sampled_from([b"a", b"b", b"c", b"*b", b"d>"])
literals = st.lists(token, min_size=1, max_size=4).map(b".".join)
patterns = st.builds(
    lambda head, tail: b".".join([*head, *tail]),
    st.lists(st.one_of(token, st.just(b"*")), min_size=1, max_size=3),
    st.sampled_from([[], [b">"], [b"*"]]),
)
queues = st.sampled_from([b"", b"", b"q1", b"q2"])


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def owner() -> Iterator[Client]:
    bench = Bench()
    yield bench.client()
    bench.close()


def expected(subs: list[Sub], subject: bytes) -> tuple[set[Sub], dict[bytes, set[Sub]]]:
    plain: set[Sub] = set()
    groups: dict[bytes, set[Sub]] = {}
    for sub in subs:
        if matches(subject, sub.subject):
            (groups.setdefault(sub.queue, set()) if sub.queue else plain).add(sub)
    return plain, groups


def answer(router: Router, subject: bytes) -> tuple[set[Sub], dict[bytes, set[Sub]]]:
    route = router.route(subject)
    return set(route.plain), {members[0].queue: set(members) for members in route.groups}


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("sub"), patterns, queues),
            st.tuples(st.just("unsub"), st.integers(0, 50), st.none()),
            st.tuples(st.just("ask"), literals, st.none()),
        ),
        max_size=60,
    )
)
def test_router_answers_what_the_judge_does_under_churn(
    owner: Client, steps: list[tuple[str, bytes | int, bytes | None]]
) -> None:
    router = Router()
    subs: list[Sub] = []
    asked: set[bytes] = set()
    for i, (what, value, queue) in enumerate(steps):
        if isinstance(value, int):
            if subs:
                router.unsubscribe(subs.pop(value % len(subs)))
        elif what == "sub":
            subs.append(Sub(owner.session, value, queue or b"", b"%d" % i))
            router.subscribe(subs[-1])
        else:
            asked.add(value)
        for subject in asked:  # every cached answer must still be the right one
            assert answer(router, subject) == expected(subs, subject)
    assert router.sublist.count == len(subs)
    assert set(router.sublist.subscriptions()) == set(subs)


def test_removing_every_subscription_leaves_an_empty_trie(owner: Client) -> None:
    sublist = Sublist()
    names = [b"a", b"a.b", b"a.*", b"a.>", b">", b"*.b.>", b"x.y.z"]
    subs = [Sub(owner.session, name, queue, b"1") for name in names for queue in (b"", b"q")]
    for sub in subs:
        sublist.insert(sub)
    for sub in subs:
        sublist.remove(sub)
        sublist.remove(sub)  # a second time does nothing
    assert sublist.count == 0
    assert sublist.removes == len(subs)
    assert sublist._root.idle()


def test_inbox_subjects_share_one_route(owner: Client) -> None:
    router = Router()
    router.subscribe(Sub(owner.session, b"_INBOX.me.*", b"", b"1"))
    routes = {router.route(b"_INBOX.me.%d" % i) for i in range(1_000)}
    assert len(routes) == 1
    assert router.resolved == 1


def test_route_cache_is_bounded(owner: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROUTE_CACHE", 100)
    router = Router()
    router.subscribe(Sub(owner.session, b"a.x.known", b"", b"1"))  # makes last tokens matter
    for i in range(1_000):
        router.route(b"t%d" % i)
        assert len(router._routes) + len(router._prefixes) <= 100
    assert set(router.route(b"a.x.known").plain)


def test_line_cache_is_bounded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LINE_CACHE", 50)
    client = bench.client()
    client.send(b"SUB > 1\r\n")
    for i in range(300):
        assert client.ask(b"PUB s.%d 1\r\nx\r\n" % i) == b"MSG s.%d 1 1\r\nx\r\n" % i
        assert len(bench.broker.default_account.router.lines) <= 50


def test_a_new_subscription_is_served_by_cached_publishes(bench: Bench) -> None:
    """Each kind of pattern must reach the lines that were cached before it existed."""
    publisher = bench.client()
    line = b"PUB a.b.c 1\r\nx\r\n"
    for pattern in (b"a.b.c", b"a.b.*", b"a.>", b"*.b.c", b">", b"a.*.c"):
        assert publisher.ask(line + b"PING\r\n") == b"PONG\r\n"
        assert publisher.ask(b"SUB " + pattern + b" 7\r\n" + line) == b"MSG a.b.c 7 1\r\nx\r\n"
        assert publisher.ask(b"UNSUB 7\r\n" + line) == b""


@pytest.mark.parametrize(
    ("subject", "valid", "literal"),
    [
        (b"a", True, True),
        (b"a.b", True, True),
        (b"a.*", True, False),
        (b"*", True, False),
        (b">", True, False),
        (b"a.>", True, False),
        (b"a.*b", True, True),
        (b"a>.b", True, True),
        (b"a.>b", True, True),
        (b"\xc3\xa9.\xff\x0b", True, True),
        (b"", False, True),
        (b".", False, True),
        (b"a.", False, True),
        (b".a", False, True),
        (b"a..b", False, True),
        (b">.a", False, False),
        (b"a.>.b", False, False),
    ],
)
def test_subject_rules(subject: bytes, valid: bool, literal: bool) -> None:
    assert is_valid(subject) is valid
    assert is_literal(subject) is literal
    assert is_valid_literal(subject) is (valid and literal)


@pytest.mark.parametrize("subject", [b"a b", b"a\tb", b"a\rb", b"a\nb", b" "])
def test_blanks_are_not_part_of_a_subscription(subject: bytes) -> None:
    assert not is_valid(subject)


@pytest.mark.parametrize(
    ("subject", "pattern", "hit"),
    [
        (b"a", b">", True),
        (b"a", b"a.>", False),
        (b"a.b", b"a.>", True),
        (b"a.b.c", b"a.*", False),
        (b"a.b", b"*.*", True),
        (b"a.*", b"a.*", True),
        (b"a", b"a.b", False),
    ],
)
def test_matches(subject: bytes, pattern: bytes, hit: bool) -> None:
    assert matches(subject, pattern) is hit


def test_a_hundred_thousand_subscriptions_each_get_their_own(bench: Bench) -> None:
    owner, publisher = bench.client(), bench.client()
    count = 100_000
    owner.send(b"".join(b"SUB dev.%d.status %d\r\n" % (i, i) for i in range(count)))
    for i in range(0, count, 9_973):
        publisher.send(b"PUB dev.%d.status 1\r\nx\r\n" % i)
        assert owner.read() == b"MSG dev.%d.status %d 1\r\nx\r\n" % (i, i)
    owner.drop()
    assert bench.broker.default_account.router.sublist._root.idle()
