"""Services of the system account: the same questions to both servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.monitor.system import CONFIG, Client, text
from tests.support.server import KINDS, Servers
from tests.support.wire import pub

pytestmark = pytest.mark.xdist_group("monitor")


class Crowd(NamedTuple):
    """A client of each user."""

    s: Client
    a: Client
    r: Client
    b: Client


@pytest.fixture(scope="module")
def crowds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Crowd]]:
    """On both servers, after the same traffic."""
    with Servers(tmp_path_factory.mktemp("system")) as servers:
        both = [servers.start(kind, CONFIG) for kind in KINDS]
        crowds = []
        for server in both:
            crowd = Crowd(*(Client(server, user, name=f"is-{user}") for user in Crowd._fields))
            crowd.a.raw.exchange(b"SUB foo 1\r\nSUB bar.* q 2\r\nSUB lim 3\r\nUNSUB 3 5\r\n")
            crowd.r.raw.exchange(b"SUB y.> 1\r\n")
            crowd.a.raw.exchange(pub(b"foo", b"abc") + pub(b"bar.x", b"de"))
            crowds.append(crowd)
        yield crowds
        for crowd in crowds:
            for client in crowd:
                client.close()


def both(crowds: list[Crowd], user: str, subject: str, body: str = "") -> tuple[Any, Any]:
    """What nats-server and we answer. Where we are silent, it must be so, too."""
    theirs, ours = (getattr(crowd, user) for crowd in crowds)
    own = ours.ask(subject, body, wait=user != "s")
    return theirs.ask(subject, body, wait=own is not None), own


def same(crowds: list[Crowd], theirs: Any, own: Any) -> None:
    """nats-server has given ids to clients of its own."""
    assert text(own, crowds[1].s.cid) == text(theirs, crowds[0].s.cid)


SERVER = [
    "STATSZ",
    "VARZ",
    "CONNZ",
    "ROUTEZ",
    "GATEWAYZ",
    "LEAFZ",
    "SUBSZ",
    "JSZ",
    "ACCOUNTZ",
    "HEALTHZ",
    "RAFTZ",
]


@pytest.mark.behaviour("MON-029", "MON-030")
@pytest.mark.parametrize("name", [*SERVER, "IDZ"])
@pytest.mark.parametrize("server", ["PING", "<id>"])
def test_questions_about_the_server(crowds: list[Crowd], server: str, name: str) -> None:
    theirs, own = both(crowds, "s", f"$SYS.REQ.SERVER.{server}.{name}")
    for answer in (theirs, own):
        forget_traffic(answer, name)
    same(crowds, theirs, own)


def forget_traffic(answer: dict[str, Any], name: str) -> None:
    """What the system's client received depends on what was asked before."""
    if name in ("STATSZ", "VARZ"):
        part = answer["statsz" if name == "STATSZ" else "data"]
        for key, value in part.items():
            if key.startswith(("in_", "out_", "sent", "received", "http_req")):
                part[key] = type(value).__name__
    if name == "CONNZ":
        for connection in answer["data"]["connections"]:
            if connection["name"] == "is-s":
                connection |= dict.fromkeys(("in_msgs", "in_bytes", "out_msgs", "out_bytes"), 0)


@pytest.mark.behaviour("MON-029")
def test_a_bare_ping(crowds: list[Crowd]) -> None:
    theirs, own = both(crowds, "s", "$SYS.REQ.SERVER.PING")
    for answer in (theirs, own):
        forget_traffic(answer, "STATSZ")
    same(crowds, theirs, own)


@pytest.mark.behaviour("MON-029")
@pytest.mark.parametrize("name", [*SERVER, "PROFILEZ", "EXPVARZ", "IPQUEUESZ"])
@pytest.mark.parametrize(
    "body",
    [
        "{bad", "[]", "1", '"x"', "{} x", '{"tags":[1]}', '{"exact_match":"x"}', '{"host":[]}',
        '{"server_name":"other"}', '{"exact_match":true,"server_name":"monitor"}', '{"cluster":"c"}',
        '{"tags":["nope"]}', '{"domain":"d"}', '{"host":"9"}',
    ],
)  # fmt: skip
def test_bodies_that_are_not_served(crowds: list[Crowd], name: str, body: str) -> None:
    theirs, own = both(crowds, "s", f"$SYS.REQ.SERVER.PING.{name}", body)
    same(crowds, theirs, own)
    assert own is None or own["error"]["code"] == 400


@pytest.mark.behaviour("MON-029")
@pytest.mark.parametrize(
    "body",
    [
        "null", "{}", '{"unknown":1}', '{"server_name":"onit"}', '{"host":"127"}', '{"tags":["A","K:V"]}',
        '{"exact_match":true,"server_name":"monitored","host":"127.0.0.1"}', '{"SERVER_NAME":"m"}',
    ],
)  # fmt: skip
def test_bodies_that_mean_this_server(crowds: list[Crowd], body: str) -> None:
    theirs, own = both(crowds, "s", "$SYS.REQ.SERVER.PING.ROUTEZ", body)
    same(crowds, theirs, own)
    assert own["data"]["num_routes"] == 0


def questions(ids: str, name: str, *bodies: str) -> list[Any]:
    marks = pytest.mark.behaviour(*(f"MON-{number}" for number in ids.split()))
    return [pytest.param(name, body, marks=marks, id=f"{name} {body}") for body in bodies]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        *questions(
            "029 010", "CONNZ",
            '{"acc":"A"}', '{"acc":"A","auth":true}', '{"acc":"A","subscriptions":true}',
            '{"acc":"A","subscriptions_detail":true}', '{"acc":"A","user":"a"}', '{"acc":"nope"}',
            '{"acc":"A","user":"zz"}', '{"acc":"A","filter_subject":"foo"}', '{"filter_subject":"foo"}',
            '{"acc":"A","filter_subject":"bar.>"}', '{"acc":"A","filter_subject":"nobody"}',
            '{"sort":"foo"}', '{"sort":"stop"}', '{"state":"closed"}', '{"state":7}', '{"state":1}',
            '{"limit":-5,"offset":-2,"acc":"B"}', '{"offset":9223372036854775807,"acc":"A"}',
            '{"limit":10000,"acc":"A"}', '{"limit":1e3}', '{"SORT":"cid","acc":"A"}',
            '{"limit":9223372036854775808}', '{"cid":-1}', '{"sort":1}', '{"mqtt_client":"x","acc":"A"}',
            '{"acc":"A","limit":1,"offset":1}', '{"acc":"A","sort":"subs"}', '{"cid":99,"acc":"A"}',
        ),
        *questions("029", "SUBSZ", '{"test":"a..b"}', '{"offset":"x"}', '{"test":1}'),
        *questions(
            "029", "JSZ",
            '{"account":"A"}', '{"accounts":1}', '{"consumer":1}', '{"direct_consumer":1}', '{"raft":2}',
            '{"leader_only":3}', '{"stream_leader_only":3}', '{"config":[]}', '{"consumers":1}',
        ),
        *questions("029 017", "ACCOUNTZ", '{"account":"A"}', '{"account":"B"}', '{"account":"nope"}'),
        *questions("029 017", "ACCOUNTZ", '{"account":"C"}', '{"account":"$SYS"}', '{"account":"$G"}'),
        *questions(
            "029", "HEALTHZ",
            '{"account":"nope"}', '{"consumer":"x"}', '{"stream":"x","details":true}', '{"details":1}',
            '{"js-enabled-only":true}', '{"js-server-only":1}', '{"js_enabled":1}', '{"js-meta-only":true}',
        ),
        *questions("029", "GATEWAYZ", '{"name":1}', '{"accounts":1}', '{"account_name":"x"}'),
        *questions("029", "LEAFZ", '{"account":1}', '{"account":"A","subscriptions":true}'),
        *questions("029", "PROFILEZ", "", '{"name":"nope"}', '{"duration":"x"}', '{"debug":"x"}'),
        *questions("029", "IPQUEUESZ", '{"all":1}', '{"filter":1}'),
        *questions("029", "RAFTZ", '{"account":1}', '{"group":1}', '{"account":"A","group":"g"}'),
    ],
)  # fmt: skip
def test_what_may_be_asked(crowds: list[Crowd], name: str, body: str) -> None:
    theirs, own = both(crowds, "s", f"$SYS.REQ.SERVER.PING.{name}", body)
    same(crowds, theirs, own)


ACCOUNT = ["CONNZ", "INFO", "SUBSZ", "JSZ", "LEAFZ", "STATZ", "CONNS", "NOPE", "CLAIMS.LOOKUP"]


@pytest.mark.behaviour("MON-029", "MON-033", "MON-034")
@pytest.mark.parametrize(
    ("account", "name"),
    [
        (account, name)
        for account in ("A", "B", "C", "$G", "nope", "PING")
        for name in ACCOUNT
        if (account, name) != ("PING", "STATZ")  # another service
    ],
)
def test_questions_about_an_account(crowds: list[Crowd], account: str, name: str) -> None:
    theirs, own = both(crowds, "s", f"$SYS.REQ.ACCOUNT.{account}.{name}")
    if name == "SUBSZ" and own["data"]:
        for answer, crowd in zip((theirs, own), crowds, strict=True):
            keep_clients(answer["data"], crowd.s.cid)
    same(crowds, theirs, own)


def keep_clients(answer: dict[str, Any], first: int) -> None:
    """Without the server's own subscriptions."""
    listed = [each for each in answer.pop("subscriptions_list", []) if each["cid"] >= first]
    answer["subscriptions_list"] = listed
    answer["total"] = 0


@pytest.mark.behaviour("MON-029")
@pytest.mark.parametrize("name", ACCOUNT[:-2])
@pytest.mark.parametrize("body", ["{bad", "[]", '{"server_name":"other"}', '{"limit":"x"}'])
def test_bodies_about_an_account(crowds: list[Crowd], name: str, body: str) -> None:
    if name == "INFO":  # whose subscriptions are counted
        body = body.replace("limit", "host")
    theirs, own = both(crowds, "s", f"$SYS.REQ.ACCOUNT.A.{name}", body)
    same(crowds, theirs, own)


@pytest.mark.behaviour("MON-018", "MON-029")
@pytest.mark.parametrize(
    "body",
    [
        '{"accounts":["A","B"]}', '{"accounts":["C"]}', '{"accounts":["C"],"include_unused":true}',
        '{"accounts":["nope"],"include_unused":true}', '{"accounts":"A"}', '{"include_unused":1}', "{bad",
    ],
)  # fmt: skip
def test_statistics_of_accounts(crowds: list[Crowd], body: str) -> None:
    theirs, own = both(crowds, "s", "$SYS.REQ.ACCOUNT.PING.STATZ", body)
    same(crowds, theirs, own)


@pytest.mark.behaviour("MON-018")
@pytest.mark.parametrize("account", ["nope", "C", "PING"])
def test_statistics_of_an_account_that_is_not_used(crowds: list[Crowd], account: str) -> None:
    body = '{"include_unused":true,"accounts":["C"]}'
    theirs, own = both(crowds, "s", f"$SYS.REQ.ACCOUNT.{account}.STATZ", body)
    same(crowds, theirs, own)


@pytest.mark.behaviour("MON-018")
def test_accounts_without_connections_are_told_on_request(crowds: list[Crowd]) -> None:
    for body, names in (
        ("", ["$SYS", "A", "B"]),
        ('{"include_unused":true}', ["$G", "$SYS", "A", "B", "C"]),
    ):
        for answer in both(crowds, "s", "$SYS.REQ.ACCOUNT.PING.STATZ", body):
            assert sorted(each["acc"] for each in answer["data"]["account_statz"]) == names


@pytest.mark.behaviour("MON-033")
@pytest.mark.parametrize(
    "subject",
    [
        "SERVER.PING.NOPE", "SERVER.PING.RELOAD", "SERVER.PING.KICK", "SERVER.PING.LDM", "SERVER",
        "SERVER.PING.ACCSTATZ", "SERVER.<id>.NOPE", "SERVER.<id>", "SERVER.<id>.PING", "SERVER.NX.VARZ",
        "CLAIMS.LIST", "USER", "X",
    ],
)  # fmt: skip
def test_unknown_services(crowds: list[Crowd], subject: str) -> None:
    own_id = [crowd.s.server_id for crowd in crowds]
    theirs, own = both(crowds, "s", f"$SYS.REQ.{subject}")
    assert own.replace(own_id[1], "ID") == theirs.replace(own_id[0], "ID")
    assert own.startswith("NATS/1.0 503")


INSIDE = ["ACCOUNT.PING.CONNZ", "SERVER.PING.CONNZ", "ACCOUNT.PING.STATZ", "USER.INFO"]


@pytest.mark.behaviour("MON-029")
@pytest.mark.parametrize("user", ["a", "b"])
@pytest.mark.parametrize(
    "body", ["", '{"acc":"$SYS","accounts":["$SYS"],"auth":true}', "{bad", "[]"]
)
@pytest.mark.parametrize("subject", INSIDE)
def test_every_account_may_ask_about_itself(
    crowds: list[Crowd], user: str, subject: str, body: str
) -> None:
    theirs, own = both(crowds, user, f"$SYS.REQ.{subject}", body)
    for answer in (theirs, own):  # without the traffic that the questions themselves are
        for part in (answer.get("data") or {}).get("connections", ()) or ():
            part["in_msgs"] = part["in_bytes"] = part["out_bytes"] = 0
        for part in (answer.get("data") or {}).get("account_statz", ()) or ():
            part["sent"] = part["received"] = {}
    same(crowds, theirs, own)
    assert "$SYS" not in text(own.get("data"))


@pytest.mark.behaviour("MON-033")
@pytest.mark.parametrize(
    "subject",
    ["SERVER.PING", "SERVER.PING.VARZ", "ACCOUNT.A.CONNZ", "ACCOUNT.B.INFO", "SERVER.<id>.KICK"],
)
def test_other_accounts_may_not_ask_about_more(crowds: list[Crowd], subject: str) -> None:
    for crowd in crowds:
        assert crowd.b.ask(f"$SYS.REQ.{subject}").startswith("NATS/1.0 503")


@pytest.mark.behaviour("MON-029")
@pytest.mark.parametrize("user", ["s", "r"])
def test_permissions_of_a_user(crowds: list[Crowd], user: str) -> None:
    theirs, own = both(crowds, user, "$SYS.REQ.USER.INFO")
    same(crowds, theirs, own)


@pytest.mark.behaviour("MON-029")
def test_nobody_in_particular(crowds: list[Crowd]) -> None:
    theirs, own = both(crowds, "s", "$SYS.REQ.USER.A.INFO")
    same(crowds, theirs, own)


@pytest.mark.behaviour("MON-029")
@pytest.mark.parametrize(
    "body", ["zz", "zz q", "zz.>", "zz.1", "zz.1 q3", "zz q x", "bad..x", "", "_INBOX.s.7"]
)
def test_how_many_subscribe(crowds: list[Crowd], body: str) -> None:
    for crowd in crowds:
        crowd.s.raw.exchange(b"SUB zz 800\r\nSUB zz q 801\r\nSUB zz q 802\r\nSUB zz.* q3 803\r\n")
    theirs, own = both(crowds, "s", "$SYS.DEBUG.SUBSCRIBERS", body)
    assert own == theirs
