"""Several accounts in one broker, without sockets: what is shared, and that nothing else is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jetstream_py.config.account_options import (
    AccountOptions,
    Destination,
    Export,
    Import,
    Mapping,
    Permissions,
    Responses,
    Rule,
    User,
)
from jetstream_py.config.options import Authorization, Options
from jetstream_py.config.secret import Secret
from jetstream_py.server.services import WaysBack
from tests.server.harness import Bench, Client

CAREFUL = Permissions(
    publish=Rule(allow=("ok.>",), deny=("ok.no",)),
    subscribe=Rule(allow=("s.>", "_INBOX.>"), deny=("s.secret",)),
)


def user(name: str, account: str, permissions: Permissions | None = None) -> User:
    return User(name=name, password=Secret("p"), account=account, permissions=permissions)


def options(*accounts: AccountOptions, users: tuple[User, ...] = ()) -> Options:
    everybody = (*(user(account.name.lower(), account.name) for account in accounts), *users)
    return Options(authorization=Authorization(users=everybody), accounts=accounts)


class Both:
    """A bench with clients by name."""

    def __init__(self, given: Options) -> None:
        self.bench = Bench(given)

    def __getitem__(self, name: str) -> Client:
        return self.bench.client(
            b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,'
            b'"user":"%b","pass":"p"}\r\n' % name.encode()
        )


@pytest.fixture
def shared() -> Iterator[Both]:
    exporter = AccountOptions(
        "A", exports=(Export("ev.>"), Export("ask.*", service=True), Export("many", service=True))
    )
    importer = AccountOptions(
        "B",
        imports=(
            Import("A", "ev.>", "fromA.ev.>"),
            Import("A", "ask.*", "help.*", service=True),
        ),
    )
    both = Both(options(exporter, importer, users=(user("careful", "B", CAREFUL),)))
    yield both
    both.bench.close()


def test_accounts_do_not_hear_each_other(shared: Both) -> None:
    a, b = shared["a"], shared["b"]
    a.send(b"SUB > 1\r\n")
    b.send(b"SUB > 1\r\nSUB x q 2\r\n")
    a.send(b"PUB x 1\r\n1\r\n" * 600)  # all gears
    assert a.read().count(b"MSG x 1") == 600
    assert b.read() == b""


def test_a_stream_import_renames(shared: Both) -> None:
    a, b = shared["a"], shared["b"]
    b.send(b"SUB fromA.*.x 1\r\nSUB > 2\r\nSUB ev.> 3\r\n")
    a.send(b"PUB ev.x 1\r\n1\r\nPUB ev.y.z r 1\r\n2\r\n")
    got = b.read()
    assert got.count(b"MSG fromA.ev.x 1 1\r\n1\r\n") == 1
    assert got.count(b"MSG fromA.ev.x 2 1\r\n1\r\n") == 1
    assert got.count(b"MSG fromA.ev.y.z 2 r 1\r\n2\r\n") == 1
    assert got.count(b"MSG") == 3
    b.send(b"UNSUB 2\r\n")
    a.send(b"PUB ev.y.z 1\r\n2\r\n")
    assert b.read() == b""
    b.drop()
    assert not any(
        sub.via for sub in shared.bench.broker.accounts["A"].router.sublist.subscriptions()
    )


def test_a_request_crosses_and_its_answer_comes_back_once(shared: Both) -> None:
    a, b = shared["a"], shared["b"]
    a.send(b"SUB ask.* 1\r\n")
    b.send(b"SUB inbox 1\r\nPUB help.me inbox 2\r\nhi\r\n")
    head, *rest = a.read().split(b"\r\n")
    reply = head.split(b" ")[3]
    assert head.startswith(b"HMSG ask.me 1 _R_.")
    assert rest[1].startswith(b'Nats-Request-Info: {"acc":"B"')
    assert rest[-2] == b"hi"
    a.send(b"PUB %b 2\r\nok\r\nPUB %b 2\r\nok\r\n" % (reply, reply))
    assert b.read() == b"MSG inbox 1 2\r\nok\r\n"


def test_a_service_that_nobody_serves_has_no_responders(shared: Both) -> None:
    b = shared["b"]
    b.send(b"SUB inbox 1\r\nPUB help.me inbox 2\r\nhi\r\n")
    assert b"Nats-Subject: help.me" in b.read()
    ways = shared.bench.broker.ways_back
    assert isinstance(ways, WaysBack)
    assert not ways._open


def test_a_way_back_closes_when_its_time_is_over(shared: Both) -> None:
    a, b = shared["a"], shared["b"]
    a.send(b"SUB ask.* 1\r\n")
    b.send(b"SUB inbox 1\r\nPUB help.me inbox 2\r\nhi\r\n")
    reply = a.read().split(b" ")[3]
    shared.bench.clock.advance(121.0)
    shared.bench.broker.timers.run_due()
    a.send(b"PUB %b 2\r\nok\r\n" % reply)
    assert b.read() == b""
    assert not shared.bench.broker.ways_back._open


def test_permissions_in_all_gears(shared: Both) -> None:
    b, careful = shared["b"], shared["careful"]
    b.send(b"SUB > 1\r\n")
    careful.send(b"PUB ok.yes 1\r\nx\r\n" * 600 + b"PUB ok.no 1\r\nx\r\n" * 600)
    assert b.read().count(b"MSG ok.yes") == 600
    assert careful.read() == b"-ERR 'Permissions Violation for Publish to \"ok.no\"'\r\n" * 600
    b.send(b"PUB ok.no 1\r\nx\r\n" * 600)  # a line that the careful one may not use
    b.read()
    careful.send(b"PUB ok.no 1\r\nx\r\n" * 600)
    assert b.read() == b""


def test_a_denied_subject_is_held_back_from_a_wildcard(shared: Both) -> None:
    b, careful = shared["b"], shared["careful"]
    careful.send(b"SUB s.* 1\r\nSUB s.secret 2\r\nSUB other 3\r\n")
    assert careful.read() == (
        b"-ERR 'Permissions Violation for Subscription to \"s.secret\"'\r\n"
        b"-ERR 'Permissions Violation for Subscription to \"other\"'\r\n"
    )
    b.send(b"PUB s.secret 1\r\nx\r\nPUB s.open 1\r\nx\r\n" * 500)
    got = careful.read()
    assert (got.count(b"MSG s.open"), got.count(b"secret")) == (500, 0)


def test_answers_are_allowed_so_often_and_so_long() -> None:
    may = Permissions(responses=Responses(max=2, expires=60.0))
    both = Both(options(AccountOptions("A"), users=(user("servant", "A", may),)))
    a, servant = both["a"], both["servant"]
    servant.send(b"SUB ask 1\r\n")
    a.send(b"SUB r.* 1\r\nPUB ask r.1 0\r\n\r\nPUB ask r.2 0\r\n\r\n")
    servant.read()
    servant.send(b"PUB r.1 1\r\n1\r\n" * 3)
    assert a.read().count(b"MSG r.1") == 2
    assert servant.read() == b"-ERR 'Permissions Violation for Publish to \"r.1\"'\r\n"
    both.bench.clock.advance(61.0)
    servant.send(b"PUB r.2 1\r\n1\r\n")
    assert a.read() == b""
    both.bench.close()


def test_mappings_come_before_permissions_and_caches() -> None:
    mappings = (
        Mapping("in.*", (Destination("out.$1"),)),
        Mapping("half", (Destination("other", 50),)),
    )
    may = Permissions(publish=Rule(allow=("out.b", "half", "other")))
    both = Both(options(AccountOptions("A", mappings=mappings), users=(user("careful", "A", may),)))
    a, careful = both["a"], both["careful"]
    a.send(b"SUB > 1\r\nPING\r\n")
    a.read()
    careful.send(b"PING\r\n")
    careful.read()
    careful.send(b"PUB in.a 1\r\nx\r\nPUB in.b 1\r\nx\r\n" * 300)
    assert careful.read() == b"-ERR 'Permissions Violation for Publish to \"out.a\"'\r\n" * 300
    assert a.read() == b"MSG out.b 1 1\r\nx\r\n" * 300
    careful.send(b"PUB half 1\r\nx\r\n" * 1000)
    got = a.read()
    assert got.count(b"MSG") == 1000
    assert 400 < got.count(b"MSG other") < 600
    both.bench.close()


def test_limits_of_an_account() -> None:
    limits = AccountOptions("A", max_connections=1, max_subscriptions=1, max_payload=5)
    both = Both(options(limits))
    a = both["a"]
    other = both["a"]
    assert other.session.closed
    assert other.session.reason == "Maximum Account Connections Exceeded"
    a.send(b"SUB x 1\r\nSUB y 2\r\n")
    assert a.read() == b"-ERR 'maximum subscriptions exceeded'\r\n"
    a.send(b"PUB x 6\r\n123456\r\n")
    assert a.read() == b"-ERR 'Maximum Payload Violation'\r\n"
    both.bench.close()


def test_a_second_connect_may_switch_the_account(shared: Both) -> None:
    a, b = shared["a"], shared["b"]
    b.send(b'SUB x 1\r\nCONNECT {"user":"a","pass":"p","verbose":false}\r\n')
    a.send(b"PUB x 1\r\n1\r\n")
    assert b.read() == b""
    assert b.session.account.name == "A"
    b.send(b"SUB x 2\r\n")
    a.send(b"PUB x 1\r\n1\r\n")
    assert b.read() == b"MSG x 2 1\r\n1\r\n"


def test_imports_in_a_circle_end() -> None:
    """The configuration refuses circles that it finds; those that it does not find must not hang."""
    one = AccountOptions(
        "A",
        exports=(Export("a.>", service=True),),
        imports=(Import("B", "b.>", "a.>", service=True),),
    )
    two = AccountOptions(
        "B",
        exports=(Export("b.>", service=True),),
        imports=(Import("A", "a.>", "b.>", service=True),),
    )
    both = Both(options(one, two))
    a = both["a"]
    a.send(b"SUB inbox 1\r\nPUB a.x inbox 1\r\n?\r\n")
    assert b"NATS/1.0 503" in a.read()
    assert not both.bench.broker.ways_back._open
    both.bench.close()


def test_unsub_counts_what_comes_by_an_import(shared: Both) -> None:
    a, b = shared["a"], shared["b"]
    b.send(b"SUB fromA.> 1\r\nUNSUB 1 2\r\n")
    a.send(b"PUB ev.x 1\r\n1\r\n" * 4)
    assert b.read() == b"MSG fromA.ev.x 1 1\r\n1\r\n" * 2


@pytest.mark.parametrize(
    ("rule", "subject", "admitted"),
    [
        (Rule(allow=("k.*",)), b"k.>", False),
        (Rule(allow=("l.*.x",)), b"l.>", False),
        (Rule(deny=("k.*",)), b"k.>", True),
        (Rule(allow=("m.>",), deny=("m.a.*",)), b"m.a.>", True),
    ],
)
def test_a_wildcard_is_judged_by_what_it_covers(rule: Rule, subject: bytes, admitted: bool) -> None:
    may = Permissions(publish=rule, subscribe=rule)
    both = Both(options(AccountOptions("A"), users=(user("careful", "A", may),)))
    a, careful = both["a"], both["careful"]
    careful.send(b"SUB %b 1\r\n" % subject)
    assert (careful.read() == b"") is admitted
    a.send(b"PUB k.a 1\r\n1\r\nPUB k.a.b 1\r\n2\r\nPUB m.a.b 1\r\n3\r\nPUB m.a.b.c 1\r\n4\r\n")
    got = careful.read()
    assert b"MSG k.a 1" not in got
    assert b"MSG m.a.b 1" not in got
    assert got.count(b"MSG") == admitted
    both.bench.close()


@pytest.mark.parametrize("destination", ["out.{{nonsense(1)}}", "out.$7", "out..x", "{{split(1)}}"])
def test_a_mapping_that_cannot_be_is_passed_over(destination: str) -> None:
    """The configuration refuses these; an account's token may bring them."""
    mapping = Mapping("in.*", (Destination(destination),))
    both = Both(options(AccountOptions("A", mappings=(mapping,))))
    a = both["a"]
    a.send(b"SUB > 1\r\nPING\r\n")
    a.read()
    a.send(b"PUB in.a 1\r\nx\r\n")
    assert a.read() == b"MSG in.a 1 1\r\nx\r\n"
    both.bench.close()
