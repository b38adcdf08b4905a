"""Accounts with JetStream and without, side by side on one server."""

from __future__ import annotations

import re
import signal

import pytest

from jetstream_py.api.service import VERBS as TABLE
from jetstream_py.engine.naming import short_hash
from tests.differential.transcript import assert_same
from tests.jetstream import pulling
from tests.jetstream.members import SYSTEM, Member, Members, account, accounts, reload
from tests.jetstream.support import API, JetStream, Message, OwnServer, Stage, own_server
from tests.support.server import KINDS, Kind, StartError, StartServer

TWO = accounts(account("A", ""), account("B", ""))
MIXED = accounts(account("A", ""), account("N"), SYSTEM)
CONSUMER = {"durable_name": "C", "ack_policy": "explicit"}

VERBS = [
    *(".".join([key.decode(), *"SC"[: verb.least]]) for key, verb in TABLE.items()),
    "CONSUMER.CREATE.S.C",
    "CONSUMER.CREATE.S.C.f",
    "CONSUMER.MSG.NEXT.S.C",
    "DIRECT.GET.S",
    "DIRECT.GET.S.x",
]
VERBS.remove("CONSUMER.RESET.S.C")  # only a consumer answers that
BODIES = (b"", b"{}", b"{bad", b'{"nobody_knows":1}', b'{"group":"A"}', b'{"group":""}')
SILENT = ("META.LEADER.STEPDOWN", "SERVER.REMOVE", "ACCOUNT.STREAM.MOVE.A.S", "ACCOUNT.PURGE")


def pull(member: Member) -> Message:
    """The next message of consumer C of stream S."""
    [message] = pulling.Pull(member).send(f"{API}CONSUMER.MSG.NEXT.S.C", {"batch": 1}).messages(1)
    return message


@own_server("STR-103", config=MIXED)
def test_the_api_without_jetstream(js: OwnServer) -> None:
    nobody = Members(js)["N"]
    nobody.listen("$JS.EVENT.>")
    for verb in VERBS:
        for body in BODIES:
            if not nobody.request(API + verb, body).status:  # somebody was there
                nobody.heard(1)
    nobody.request(f"{API}STREAM.INFO.S", b"", {"Nats-Required-Api-Level": "9"})
    nobody.heard(1)
    for verb in (*SILENT, "ACCOUNT.PURGE.A", "CONSUMER.RESET.S.C", "STREAM.NOTHING", "NOTHING"):
        nobody.silent(API + verb)
    js.ok("INFO")


@own_server(config=MIXED)
def test_the_api_of_the_system_account(js: OwnServer) -> None:
    system = Members(js)["SYS"]
    system.listen("$JS.EVENT.>")
    for verb in (*VERBS, "STREAM.NOTHING", "NOTHING"):
        system.request(API + verb)
        system.heard(1)
    for verb in (*SILENT, "ACCOUNT.PURGE.A.B"):
        system.silent(API + verb)
    js.ok("INFO")


@own_server(config=accounts(account("N"), SYSTEM, account("A"), server="jetstream { domain: hub }"))
def test_the_other_name_of_the_api(js: OwnServer) -> None:
    members = Members(js)
    for user in ("N", "SYS"):
        for verb in ("INFO", "STREAM.NAMES", "CONSUMER.MSG.NEXT.S.C", "$KV.b.k"):
            members[user].request(f"$JS.hub.API.{verb}")
        members[user].silent("$JS.hub.API.META.LEADER.STEPDOWN")
    members["N"].request("$JS.hub.API.NOTHING")
    members["SYS"].request("$JS.hub.API.NOTHING")
    members["N"].silent("$JS.hub.API.ACCOUNT.PURGE.A")
    members["SYS"].request("$JS.hub.API.ACCOUNT.PURGE.A")


@own_server(config=TWO)
def test_streams_of_the_same_name(js: OwnServer) -> None:
    """Names, subjects, messages, consumers and acks are an account's own."""
    members = Members(js)
    a, b = members["A"], members["B"]
    for member in (a, b):
        member.create("S", subjects=["s.>"], allow_direct=True)
        member.publish("s.1", member.user.encode())
        member.ok("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": CONSUMER})
    a.publish("s.2", b"more")
    b.ok("STREAM.NAMES")
    b.state("S")
    a.direct("S", seq=1)
    b.direct("S", seq=1)
    pulled = pull(a)
    pull(b)
    # Whoever is not of the account cannot acknowledge, even if it names the account.
    rest = pulled.reply.removeprefix("$JS.ACK.")
    b.request(f"$JS.ACK._.{short_hash('A')}.{rest}", b"+ACK")
    b.ok("CONSUMER.INFO.S.C")
    a.ok("CONSUMER.INFO.S.C")
    a.request(pulled.reply, b"+ACK")
    a.delete("S")
    b.state("S")
    b.ok("INFO")
    a.ok("INFO")


@own_server(
    config=accounts(
        account("A", ""), account("B", ""), server="feature_flags { js_ack_fc_v2: true }"
    )
)
def test_ack_subjects_name_the_account(js: OwnServer) -> None:
    members = Members(js)
    for user in ("A", "B"):
        member = members[user]
        member.create("S", subjects=["s"])
        member.publish("s", b"x")
        member.ok("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": CONSUMER})
        message = pull(member)
        member.note(message.reply.split(".")[:6])
        member.request(message.reply, b"+ACK")


@own_server(config=TWO)
def test_advisories_stay_in_the_account(js: OwnServer) -> None:
    members = Members(js)
    for user in ("A", "B"):
        members[user].listen("$JS.EVENT.>")
    members["A"].create("S")
    members["A"].heard(2)
    members["B"].refused("STREAM.INFO.S")
    members["B"].heard(1)
    for user in ("A", "B"):
        members[user].listen("nothing")  # and hears what was on its way
        assert members[user].kept == []


@own_server(config=MIXED)
def test_purge_of_an_account(js: OwnServer) -> None:
    members = Members(js)
    a, system = members["A"], members["SYS"]
    a.create("S")
    a.create("M", storage="memory")
    a.publish("S", b"x")
    a.ok("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": CONSUMER})
    system.listen("$JS.EVENT.>")
    for name in ("A", "N", "nobody", "SYS"):
        system.request(f"{API}ACCOUNT.PURGE.{name}", b'{"ignored":1}')
        system.heard(1)
    a.ok("STREAM.NAMES")
    a.ok("INFO")
    for text in ("A (streams: 2, hasAccount: true)", "nobody (streams: 0, hasAccount: false)"):
        assert f"Purge request for account {text}" in js.server.log()


# -- reload and restart ----------------------------------------------------------------------------


@own_server(config=TWO)
def test_limits_change_at_reload(js: OwnServer) -> None:
    js.create("S", subjects=["s"])
    js.publish("s", b"x" * 100)
    reload(js, accounts(account("A", "max_file: 10, max_streams: 1"), account("B", "")))
    js.ok("INFO")
    js.publish("s", b"x")
    js.create("S", subjects=["s"])
    js.create_refused("T")
    js.update("S", subjects=["s"], description="other")
    js.delete("S")
    js.create("U", subjects=["u"])
    js.publish("u", b"")
    reload(js, TWO)
    js.publish("u", b"")
    js.ok("INFO")


@own_server(config=TWO)
def test_jetstream_goes_and_comes_back(js: OwnServer) -> None:
    b = Members(js)["B"]
    b.create("S", subjects=["s"])
    b.create("M", subjects=["m"], storage="memory")
    b.ok("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": CONSUMER})
    b.publish("s", b"1")
    b.publish("s", b"2")
    pull(b)
    reload(js, accounts(account("A", ""), account("B")))
    b.refused("INFO")
    b.refused("STREAM.NAMES")
    b.request("s", b"x")
    b.request(f"{API}CONSUMER.MSG.NEXT.S.C")
    reload(js, TWO)
    b.ok("STREAM.NAMES")
    b.publish("s", b"3")
    b.state("S")
    pull(b)
    b.ok("CONSUMER.INFO.S.C")
    b.ok("INFO")
    js.ok("INFO")


@own_server(config=TWO)
def test_an_account_comes_at_reload(js: OwnServer) -> None:
    reload(js, accounts(account("A", ""), account("B", ""), account("C", "max_streams: 1")))
    c = Members(js)["C"]
    c.ok("INFO")
    c.create("S")
    c.create_refused("T")
    js.ok("STREAM.NAMES")


@own_server(config=TWO)
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_streams_wait_for_their_account(js: OwnServer, how: signal.Signals) -> None:
    members = Members(js)
    b = members["B"]
    b.create("S", subjects=["s"])
    b.create("T", subjects=["t.>"])
    b.publish("s", b"x")
    b.ok("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": CONSUMER})
    js.create("S", subjects=["s"])
    b.ok("INFO")
    members.leave()
    for config in (accounts(account("A", "")), accounts(account("A", ""), account("B")), TWO):
        js.config = config
        js.restart(how)
        js.publish("s", b"mine")
        js.ok("STREAM.NAMES")
        js.ok("INFO")
    b = members["B"]
    b.ok("STREAM.NAMES")
    b.ok("CONSUMER.NAMES.S")
    b.publish("s", b"y")
    b.ok("INFO")


# -- which accounts have it ------------------------------------------------------------------------

WHO = {
    "only the system account": accounts(
        SYSTEM, server="authorization { users: [{user: A, password: p}] }"
    ),
    "an account without": accounts(
        SYSTEM, account("N"), server="authorization { users: [{user: A, password: p}] }"
    ),
    "enabled": "accounts { A { users: [{user: A, password: p}], jetstream: enabled } }\nno_auth_user: A\n",
    "disabled": "accounts { A { users: [{user: A, password: p}], jetstream: disabled } }\nno_auth_user: A\n",
    "true": "accounts { A { users: [{user: A, password: p}], jetstream: true } }\nno_auth_user: A\n",
}


@pytest.mark.parametrize("config", WHO)
def test_who_has_jetstream(stage: Stage, config: str) -> None:
    def story(js: OwnServer) -> None:
        js.note(js.client.info.get("jetstream"))
        js.api("INFO")
        js.api("STREAM.CREATE.S", {"name": "S"})

    played = [stage.play_alone(kind, story, WHO[config]) for kind in KINDS]
    assert_same(*played)


FAIR = "max_file: 500, max_mem: 500"
TOO_MUCH = pytest.mark.parametrize(
    ("limits", "refusal"),
    [
        ("max_file: 501", "insufficient storage resources available (10047)"),
        ("max_mem: 501", "insufficient memory resources available (10028)"),
    ],
)


def shared(first: str) -> str:
    most = 'jetstream { store_dir: "store", max_file: 1000, max_mem: 1000 }'
    return accounts(account("A", first), account("B", FAIR), server=most)


@pytest.mark.parametrize("kind", KINDS)
@TOO_MUCH
def test_more_than_the_server_has(
    start_server: StartServer, kind: Kind, limits: str, refusal: str
) -> None:
    text = "Can't start JetStream: Error enabling jetstream on configured accounts: "
    with pytest.raises(StartError, match=re.escape(text + refusal)):
        start_server(kind, shared(limits))


@pytest.mark.parametrize("kind", KINDS)
@TOO_MUCH
def test_more_than_the_server_has_at_reload(
    start_server: StartServer, kind: Kind, limits: str, refusal: str
) -> None:
    """The old limits stay."""
    server = start_server(kind, shared(FAIR))
    server.reload(shared(limits))
    log = server.wait_for_log("Reloaded server configuration")
    assert f"Error enabling jetstream on configured accounts: {refusal}" in log
    js = JetStream(server, server.directory)
    assert js.ask("INFO")["limits"]["max_storage"] == 500
    js.close()
