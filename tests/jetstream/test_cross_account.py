"""JetStream of one account used by another, through exports and imports."""

from __future__ import annotations

import json

import pytest

from tests.jetstream import pulling
from tests.jetstream.members import Member, Members, account, accounts
from tests.jetstream.support import Message, OwnServer, own_server

EXPORTS = """exports: [
    {service: "$JS.API.>", response_type: stream}, {service: "$JS.ACK.>"},
    {stream: "deliver.>"}, {stream: "named.*"}, {service: "pub.>"}
]"""
IMPORTS = """imports: [
    {service: {account: A, subject: "$JS.API.>"}, to: "JS.A.API.>"},
    {service: {account: A, subject: "$JS.ACK.>"}},
    {stream: {account: A, subject: "deliver.>"}},
    {stream: {account: A, subject: "named.*"}, to: "by.$1.name"},
    {service: {account: A, subject: "pub.>"}}
]"""
SHARED = IMPORTS.replace('to: "JS.A.API.>"', 'to: "JS.A.API.>", share: true')
CONFIG = accounts(
    account("A", "", EXPORTS), account("B", None, IMPORTS), account("D", None, SHARED)
)
API = "JS.A.API."
CONSUMER = {"durable_name": "C", "ack_policy": "explicit"}


def ask(member: Member, verb: str, body: object = None) -> Message:
    return member.request(API + verb, json.dumps(body).encode() if body else b"")


def stream(member: Member, **config: object) -> None:
    ask(
        member,
        "STREAM.CREATE.S",
        {"name": "S", "subjects": ["pub.>"], "allow_direct": True, **config},
    )


@own_server("AUTH-025", config=CONFIG)
def test_the_api_of_another_account(js: OwnServer) -> None:
    b = Members(js)["B"]
    ask(b, "INFO")
    b.refused("INFO")  # its own
    stream(b)
    ask(b, "STREAM.NAMES")
    ask(b, "STREAM.INFO.S")
    ask(b, "STREAM.INFO.T")
    b.publish("pub.1", b"one")
    ask(b, "DIRECT.GET.S", {"seq": 1})
    ask(b, "DIRECT.GET.T", {"seq": 1})
    ask(b, "CONSUMER.MSG.NEXT.S.X")
    b.silent(f"{API}NOTHING")
    ask(b, "STREAM.PURGE.S")
    ask(b, "STREAM.DELETE.S")
    js.ok("INFO")


@own_server(config=CONFIG)
def test_publishes_from_another_account(js: OwnServer) -> None:
    """What tells who asked is not stored, and not counted."""
    members = Members(js)
    a, b, d = (members[user] for user in "ABD")
    stream(b, max_msg_size=60)
    forged = {"Nats-Request-Info": "forged"}
    for member in (a, b, d):
        member.publish("pub.1", b"x")
        member.publish("pub.1", b"x", {"Own": "header"})
        member.publish("pub.1", b"x", forged)
        member.publish("pub.1", b"x", forged | {"Own": "header"})
        member.publish("pub.1", b"x" * 60)
        member.publish("pub.1", b"x" * 61)
        member.publish("pub.1", b"", {"Nats-Msg-Id": "1"})
    for seq in range(1, a.state("S")["last_seq"] + 1):
        a.direct("S", seq=seq)


@own_server(config=CONFIG)
def test_pulls_from_another_account(js: OwnServer) -> None:
    members = Members(js)
    a, b = members["A"], members["B"]
    stream(b)
    for number in range(6):
        (a, b)[number % 2].publish(f"pub.{number}", b"%d" % number)
    ask(b, "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": CONSUMER})
    pull = pulling.Pull(b).send(f"{API}CONSUMER.MSG.NEXT.S.C", {"batch": 2})
    for message in pull.messages(2):
        b.request(message.reply, b"+ACK")
    pull = pulling.Pull(b).send(f"{API}CONSUMER.MSG.NEXT.S.C", {"batch": 3, "no_wait": True})
    for message in pull.messages(3):
        b.cast(message.reply, b"+ACK")
    pull = pulling.Pull(b).send(f"{API}CONSUMER.MSG.NEXT.S.C", {"batch": 2, "expires": 200_000_000})
    pull.until_status()
    ask(b, "CONSUMER.INFO.S.C")


@own_server(config=CONFIG)
@pytest.mark.parametrize(
    ("deliver", "listen"), [("deliver.b", "deliver.b"), ("named.b", "by.b.name")]
)
def test_pushes_to_another_account(js: OwnServer, deliver: str, listen: str) -> None:
    """Messages keep their subjects, whatever the importer calls the inbox."""
    b = Members(js)["B"]
    stream(b)
    b.publish("pub.1", b"one")
    b.listen(listen)
    config = {**CONSUMER, "deliver_subject": deliver}
    ask(b, "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config})
    [first] = b.heard(1)  # how many are left is in its reply
    b.publish("pub.2", b"two", {"Own": "header"})
    for message in (first, *b.heard(1)):
        b.note(message.subject)
        b.request(message.reply, b"+ACK")
    js.until(lambda: js.ask("CONSUMER.INFO.S.C")["num_ack_pending"] == 0)
    js.ok("CONSUMER.INFO.S.C")


@own_server(config=CONFIG)
def test_audit_of_requests_from_another_account(js: OwnServer) -> None:
    members = Members(js)
    js.listen("$JS.EVENT.ADVISORY.API")
    for user in "BDA":
        member = members[user]
        member.request(("$JS.API." if user == "A" else API) + "INFO")
        js.heard(1)
        forged = {"Nats-Request-Info": '{"acc":"forged"}'}
        member.request(("$JS.API." if user == "A" else API) + "STREAM.INFO.S", b"", forged)
        js.heard(1)
