"""Permissions on every way a message can take, against a judge that tries all subjects there are.

One case is two accounts, a few users with random rules, their subscriptions and publishes. The judge knows
nothing of tries, regular expressions, caches or gears: it asks for each message and each subscription whether
the one falls under the other, and whether "everything under this pattern falls under that one" by looking at
every subject of a small world.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import product
from typing import Final, NamedTuple

from hypothesis import strategies as st

from jetstream_py.config.account_options import (
    AccountOptions,
    Destination,
    Export,
    Import,
    Mapping,
    Permissions,
    Rule,
    User,
)
from jetstream_py.config.options import Authorization, Options
from jetstream_py.config.secret import Secret
from jetstream_py.subject import matches
from tests.server.harness import Bench, Client

TOKENS: Final = ("a", "b", "c")
DEPTH: Final = 3
# One token deeper than any pattern, and a token that no pattern names.
WORLD: Final = [
    ".".join(words).encode()
    for depth in range(1, DEPTH + 2)
    for words in product((*TOKENS, "zz"), repeat=depth)
]
HERE, ABROAD = "here", "abroad"
LOCAL: Final = "i"  # what B puts before the subjects of A
MAPPED: Final = Mapping("m.*", (Destination("a.$1"),))

words = st.sampled_from(TOKENS)
subjects = st.lists(words, min_size=1, max_size=DEPTH).map(".".join)


@st.composite
def patterns(draw: st.DrawFn) -> str:
    tokens = draw(st.lists(st.sampled_from([*TOKENS, "*"]), min_size=1, max_size=DEPTH))
    if draw(st.booleans()):
        tokens[-1] = ">"
    return ".".join(tokens)


groups = st.sampled_from(["g", "h.x", "h.y"])
entries = st.tuples(patterns(), st.sampled_from(["", "", "", " g", " h.*", " >"])).map("".join)
publish_rules = st.builds(
    Rule,
    allow=st.none() | st.lists(patterns(), min_size=1, max_size=3).map(tuple),
    deny=st.lists(patterns(), max_size=2).map(tuple),
)
subscribe_rules = st.builds(
    Rule,
    allow=st.none() | st.lists(entries, min_size=1, max_size=3).map(tuple),
    deny=st.lists(entries, max_size=3).map(tuple),
)
wanted = st.lists(st.tuples(patterns(), st.none() | groups), min_size=1, max_size=4)


class Case(NamedTuple):
    """What the users may, and what they try."""

    publish: Rule
    subscribe: Rule
    subs: list[tuple[str, str | None]]
    abroad: Rule
    abroad_subs: list[tuple[str, str | None]]
    publishes: list[str]
    times: int  # each, in one read: few and many take different gears


cases = st.builds(
    Case,
    publish=publish_rules,
    subscribe=subscribe_rules,
    subs=wanted,
    abroad=subscribe_rules,
    abroad_subs=wanted,
    publishes=st.lists(subjects | words.map("m.{}".format), min_size=1, max_size=5),
    times=st.sampled_from([1, 1, 90]),
)


# -- the judge --------------------------------------------------------------------------------------


@cache
def under(pattern: str) -> frozenset[bytes]:
    return frozenset(subject for subject in WORLD if matches(subject, pattern.encode()))


def speaks_of(entry: str, queue: str | None) -> tuple[str, bool]:
    """The pattern of an entry, and whether it is about subscriptions in that group."""
    pattern, _, group = entry.partition(" ")
    return pattern, not group or (queue is not None and matches(queue.encode(), group.encode()))


def may_publish(rule: Rule, subject: str) -> bool:
    name = subject.encode()
    if any(name in under(pattern) for pattern in rule.deny):
        return False
    return rule.allow is None or any(name in under(pattern) for pattern in rule.allow)


def may_subscribe(rule: Rule, pattern: str, queue: str | None) -> bool:
    for entry in rule.deny:
        denied, meant = speaks_of(entry, queue)
        if meant and under(pattern) <= under(denied):
            return False
    if rule.allow is None:
        return True
    covering = [each for each in rule.allow if under(pattern) <= under(each.partition(" ")[0])]
    named = [each for each in covering if " " in each]
    if queue is not None and named:
        return any(speaks_of(each, queue)[1] for each in named)
    return any(" " not in each for each in covering)


def may_see(rule: Rule, subject: str, queue: str | None) -> bool:
    return not any(
        meant and subject.encode() in under(pattern)
        for pattern, meant in (speaks_of(entry, queue) for entry in rule.deny)
    )


class Share(NamedTuple):
    """Messages that a group gets one copy of each: any of these heads may be it."""

    heads: frozenset[tuple[str, bytes]]
    copies: int


class Verdict(NamedTuple):
    plain: Counter[tuple[str, bytes]]  # who gets which head how often
    shares: list[Share]
    refused: int


def expected(case: Case) -> Verdict:
    plain: Counter[tuple[str, bytes]] = Counter()
    shares: list[Share] = []
    refused = 0
    for subject, count in Counter(case.publishes).items():
        target = "a." + subject[2:] if subject.startswith("m.") else subject
        times = count * case.times
        if not may_publish(case.publish, target):
            refused += times
            continue
        members: dict[str, set[tuple[str, bytes]]] = {}
        for who, sid, (pattern, queue), rule in _subs(case):
            seen = matches(target.encode(), pattern.encode()) and may_see(rule, target, queue)
            if not seen or not may_subscribe(rule, pattern, queue):
                continue
            name = target if who == HERE else f"{LOCAL}.{target}"
            head = (who, b"MSG %b %d" % (name.encode(), sid))
            if queue is None:
                plain[head] += times
            else:
                members.setdefault(queue, set()).add(head)
        shares += [Share(frozenset(heads), times) for heads in members.values()]
    return Verdict(plain, shares, refused)


def _subs(case: Case) -> list[tuple[str, int, tuple[str, str | None], Rule]]:
    return [
        (who, sid, sub, rule)
        for who, subs, rule in (
            (HERE, case.subs, case.subscribe),
            (ABROAD, case.abroad_subs, case.abroad),
        )
        for sid, sub in enumerate(subs)
    ]


def _abroad(pattern: str) -> str:
    return f"{LOCAL}.{pattern}"


def _rule_abroad(rule: Rule) -> Rule:
    allow = None if rule.allow is None else tuple(map(_abroad, rule.allow))
    return Rule(allow, tuple(map(_abroad, rule.deny)))


# -- the server -------------------------------------------------------------------------------------


def _user(name: str, account: str, permissions: Permissions) -> User:
    return User(name=name, password=Secret("p"), account=account, permissions=permissions)


def _bench(case: Case) -> Bench:
    users = (
        _user("publisher", "A", Permissions(publish=case.publish)),
        _user("receiver", "A", Permissions(subscribe=case.subscribe)),
        _user("abroad", "B", Permissions(subscribe=_rule_abroad(case.abroad))),
    )
    return Bench(
        Options(
            authorization=Authorization(users=users),
            accounts=(
                AccountOptions("A", exports=(Export(">"),), mappings=(MAPPED,)),
                AccountOptions("B", imports=(Import("A", ">", f"{LOCAL}.>"),)),
            ),
        )
    )


def _client(bench: Bench, name: str) -> Client:
    client = bench.client(
        b'CONNECT {"verbose":false,"pedantic":false,"user":"%b","pass":"p"}\r\n' % name.encode()
    )
    client.ask(b"PING\r\n")
    return client


def _subscribe(client: Client, subs: list[tuple[str, str | None]]) -> None:
    for sid, (pattern, queue) in enumerate(subs):
        client.send(b"SUB %b %b %d\r\n" % (pattern.encode(), (queue or "").encode(), sid))
    client.read()


def check(case: Case) -> None:
    """Play a case and compare."""
    bench = _bench(case)
    try:
        publisher = _client(bench, "publisher")
        here, abroad = _client(bench, "receiver"), _client(bench, "abroad")
        _subscribe(here, case.subs)
        _subscribe(abroad, [(_abroad(pattern), queue) for pattern, queue in case.abroad_subs])
        for subject in case.publishes:
            publisher.send(b"PUB %b 9\r\n123456789\r\n" % subject.encode() * case.times)
        want = expected(case)
        _compare(_heads(HERE, here) + _heads(ABROAD, abroad), want)
        assert publisher.read().count(b"Permissions Violation for Publish") == want.refused
    finally:
        bench.close()


def _compare(got: Counter[tuple[str, bytes]], want: Verdict) -> None:
    shared: set[tuple[str, bytes]] = set()
    for share in want.shares:
        shared |= share.heads
    assert {head: n for head, n in got.items() if head not in shared} == want.plain
    sums: Counter[frozenset[tuple[str, bytes]]] = Counter()
    for share in want.shares:
        sums[share.heads] += share.copies
    for heads, count in sums.items():
        assert sum(got[head] for head in heads) == count


def _heads(who: str, client: Client) -> Counter[tuple[str, bytes]]:
    lines = client.read().split(b"\r\n")
    return Counter((who, line.rpartition(b" ")[0]) for line in lines if line.startswith(b"MSG"))
