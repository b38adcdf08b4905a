"""Deny wins, in every form of a subscription; and a wildcard is not a way around an allow list."""

from __future__ import annotations

import pytest

from jetstream_py.config.account_options import Permissions, Rule, User
from jetstream_py.config.options import Authorization, Options
from jetstream_py.config.secret import Secret
from tests.server.harness import Bench, Client
from tests.support.wire import connect, pub

FORMS = [b"SUB %b 1\r\n", b"SUB %b group 1\r\n"]


def entered(bench: Bench, name: str) -> Client:
    return bench.client(connect(user=name, **{"pass": name}))


def bench_with(rule: Rule) -> Bench:
    users = (
        User(name="u", password=Secret("u"), permissions=Permissions(subscribe=rule)),
        User(name="boss", password=Secret("boss")),
    )
    return Bench(Options(authorization=Authorization(users=users)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("allow", "wanted"),
    [("k.*", b"k.>"), ("k.*", b">"), ("k.*", b"*.>"), ("k.*.m", b"k.>"), ("k", b"*"), ("*.k", b"*.*"),
     ("k.>", b">"), ("k.> other", b"k.a")],
)  # fmt: skip
def test_wider_than_allowed(allow: str, wanted: bytes, form: bytes) -> None:
    """nats-server lets some of these in."""
    bench = bench_with(Rule(allow=(allow,)))
    client = entered(bench, "u")
    assert client.ask(form % wanted).startswith(b"-ERR 'Permissions Violation for Subscription")
    entered(bench, "boss").send(pub(b"k.a", b"x") + pub(b"k.a.b", b"x") + pub(b"z", b"x"))
    assert client.read() == b""
    bench.close()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wanted", [b"s.no", b"s.no.a", b"s.*", b"s.>", b"*.no", b">", b"*.no.>"])
@pytest.mark.parametrize("allow", [None, ("s.>",), (">", "s.no"), (">", "s.no.>", "s.no")])
def test_deny_wins(allow: tuple[str, ...] | None, wanted: bytes, form: bytes) -> None:
    bench = bench_with(Rule(allow=allow, deny=("s.no", "s.no.>")))
    client = entered(bench, "u")
    client.ask(form % wanted)
    boss = entered(bench, "boss")
    for subject in (b"s.no", b"s.no.a", b"s.no.a.b"):
        boss.send(pub(subject, b"x"))
        boss.send(pub(subject, b"x") * 200)  # by the fast ways, too
    assert client.read() == b""
    bench.close()


@pytest.mark.parametrize("wanted", [b"s.a", b"s.*", b">"])
def test_deny_for_a_group(wanted: bytes) -> None:
    bench = bench_with(Rule(deny=("s.> group",)))
    client, boss = entered(bench, "u"), entered(bench, "boss")
    client.ask(b"SUB %b group 1\r\n" % wanted)
    boss.send(pub(b"s.a", b"x") * 200)
    assert client.read() == b""
    client.ask(b"SUB %b 2\r\n" % wanted)
    boss.send(pub(b"s.a", b"x"))
    assert client.read() == b"MSG s.a 2 1\r\nx\r\n"
    bench.close()
