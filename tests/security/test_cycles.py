"""Imports that lead back to where they start, in a file and by tokens at run time: refused, or harmless."""

from __future__ import annotations

from typing import Any

import pytest

from jetstream_py import limits
from jetstream_py.config.account_options import AccountOptions, Export, Import
from jetstream_py.config.account_options import User as UserOptions
from jetstream_py.config.options import Authorization, Options
from jetstream_py.config.secret import Secret
from jetstream_py.server.services import WayBack
from tests.accounts.support import Stage, Theatre
from tests.differential.transcript import assert_same
from tests.jwt.world import Chain, Login, attempt, request
from tests.server.harness import Bench
from tests.support.server import KINDS, OURS, StartError, StartServer
from tests.support.tokens import Account, User
from tests.support.wire import connect, pub


def account(name: str, *imports: str, kind: str = "service") -> str:
    user = f"{{user: {name.lower()}, password: {name.lower()}}}"
    taken = []
    for text in imports:
        source, subject, to = text.split(" ")
        taken.append(f'{{{kind}: {{account: {source}, subject: "{subject}"}}, to: "{to}"}}')
    listed = ", ".join(taken)
    return f'{name} {{ users: [{user}], exports: [{{{kind}: ">"}}], imports: [{listed}] }}'


def accounts(*blocks: str) -> str:
    return "accounts {\n" + "\n".join(blocks) + "\n}"


REFUSED = {
    "same name": accounts(account("A", "B x x"), account("B", "A x x")),
    "renamed": accounts(account("A", "B b a"), account("B", "A a b")),
    "wildcards": accounts(account("A", "B b.> a.>"), account("B", "A a.> b.>")),
    "itself, twice": accounts(account("A", "A y x", "A x y")),
    "streams": accounts(account("A", "B b a", kind="stream"), account("B", "A a b", kind="stream")),
}
# nats-server lets these in, and so do we; a request that goes round in them has no responders.
LET_IN = {
    "three": accounts(
        account("A", "B b.s a.s"), account("B", "C c.s b.s"), account("C", "A a.s c.s")
    ),
    "itself": accounts(account("A", "A y a.s")),
    "itself, same name": accounts(account("A", "A a.> a.>")),
}


@pytest.mark.parametrize("config", REFUSED.values(), ids=REFUSED)
def test_refused(start_server: StartServer, config: str) -> None:
    with pytest.raises(StartError, match="import forms a cycle"):
        start_server(OURS, config)


@pytest.mark.parametrize("name", LET_IN)
def test_let_in(name: str, theatre: Theatre) -> None:
    def story(stage: Stage) -> None:
        client = stage.enter("a")
        client.say(b"SUB in 1\r\n")
        client.say(pub(b"a.s", b"?", b"in") * 3 + pub(b"a.s", b"!"))

    theirs, ours = (theatre.play(theatre.server(kind, LET_IN[name], ()), story) for kind in KINDS)
    assert_same(theirs, ours)


def test_many_ways_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine imports that all overlap have a third of a million orders; few of them are tried."""
    imports = tuple(Import("A", "s.>", "s.>", True) for _ in range(9))
    account = AccountOptions("A", exports=(Export(">", True),), imports=imports)
    user = UserOptions(name="a", password=Secret("p"), account="A")
    bench = Bench(Options(accounts=(account,), authorization=Authorization(users=(user,))))
    ways = bench.broker.ways_back
    opened = []
    open_way = ways.open

    def counting(*args: Any, **kwargs: Any) -> WayBack:
        opened.append(args)
        return open_way(*args, **kwargs)

    monkeypatch.setattr(ways, "open", counting)
    client = bench.client(connect(user="a", headers=True, no_responders=True, **{"pass": "p"}))
    for _ in range(2):  # the count starts anew with each message
        opened.clear()
        answer = client.ask(b"SUB in 1\r\n" + pub(b"s.1", b"?", b"in"))
        assert answer.startswith(b"HMSG in 1 ")
        assert 9 < len(opened) <= 9 * limits.SERVICE_HOPS
    bench.close()


def test_by_tokens_at_run_time(start_server: StartServer) -> None:
    """An account's owner updates it so that it imports what it exports, by way of another."""
    made = Chain()
    other = Account(made.operator, "OTHER", b"\7" * 32)
    service = {"name": "s", "subject": ">", "type": "service"}

    def taking(source: Account, subject: str, local: str) -> dict[str, object]:
        taken = {"subject": subject, "account": source.public, "type": "service",
                 "local_subject": local}  # fmt: skip
        return {"exports": [service], "imports": [taken]}

    made.preload[other.public] = other.jwt(nats={"exports": [service]})
    server = start_server(OURS, made.config())
    admin, _ = attempt(server, Login(made.system_user.jwt(), made.system_user.key))
    users = [made.user, User(other, "o", b"\10" * 32)]
    clients = [attempt(server, Login(user.jwt(), user.key))[0] for user in users]
    rounds = [("b.s", "a.s", "a.s", "b.s"), ("x", "x", "x", "x"), ("b.>", "a.>", "a.>", "b.>")]
    for theirs, mine, back, local in rounds:
        for target, nats in (
            (made.account, taking(other, theirs, mine)),
            (other, taking(made.account, back, local)),
        ):
            subject = f"$SYS.REQ.ACCOUNT.{target.public}.CLAIMS.UPDATE"
            assert request(admin, subject, target.jwt(nats=nats).encode())
        for client in clients:
            client.exchange(pub(b"a.s", b"?", b"in") + pub(b"b.s", b"?") + pub(b"x", b"?"))
            assert client.exchange(b"SUB ok 1\r\n" + pub(b"ok", b"1")) == b"MSG ok 1 1\r\n1\r\n"
            client.exchange(b"UNSUB 1\r\n")
    assert "RecursionError" not in server.log()
    assert "Traceback" not in server.log()
