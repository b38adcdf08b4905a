"""The subjects that acks go to, and +NXT, which asks for more with an ack."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from tests.jetstream.pulling import (
    ACK,
    WPI,
    Pull,
    consumer,
    sequences,
    stream,
)
from tests.jetstream.support import JetStream, Message, OwnServer, own_server, scenario

UNKNOWN_SUBJECTS = [
    "$JS.ACK.S.C.1.9.9.1.0",
    "$JS.ACK.S.C.1.2.2.1.0",
    "$JS.ACK.S.C.1.0.0.1.0",
    "$JS.ACK.S.C.x.1.1.1.0",
    "$JS.ACK.S.C.1.x.1.1.0",
    "$JS.ACK.S.C.1.1.x.1.0",
    "$JS.ACK.S.C.1.1.1.x.0",
    "$JS.ACK.S.C.1.1.1.1.x",
    "$JS.ACK.S.C.1.1.1.1",
    "$JS.ACK.S.C.1.1",
    "$JS.ACK.S.C",
    "$JS.ACK.S.C.1.1.1.1.0.0",
    "$JS.ACK.S.C.-1.-1.-1.1.0",
    "$JS.ACK.S.C.1.1.2.1.0",
    "$JS.ACK.S.C.1.1.9.1.0",
    "$JS.ACK.S.C.0.1.1.1.0",
    "$JS.ACK.S.C.7.1.1.1.0",
    "$JS.ACK.S.C.2.1.1.1.0",
    "$JS.ACK.S.X.1.1.1.1.0",
    "$JS.ACK.X.C.1.1.1.1.0",
]


@pytest.mark.parametrize("subject", UNKNOWN_SUBJECTS)
@scenario("PULL-024")
def test_odd_ack_subjects(js: JetStream, subject: str) -> None:
    """One message is delivered, two are not."""
    stream(js, 3)
    c = consumer(js)
    (message,) = c.fetch()
    odd = Pull(js).send(subject, ACK)
    c.ack(message, WPI)
    js.fence()
    heard = [it for it in js.kept if it.sid == odd.sid]
    js.note([(it.status, it.data) for it in heard])
    c.info()


def account_hash(name: str) -> str:
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    return "".join(digits[byte % 62] for byte in hashlib.sha256(name.encode()).digest()[:8])


@scenario("DLV-024")
def test_second_form_of_the_subject(js: JetStream) -> None:
    stream(js, 6)
    c = consumer(js)
    messages = c.fetch(6)

    def second_form(message: Message, domain: str, account: str, tail: str = "") -> Message:
        rest = message.reply.removeprefix("$JS.ACK.")
        return replace(message, reply=f"$JS.ACK.{domain}.{account}.{rest}{tail}")

    mine = account_hash("$G")
    c.ack(second_form(messages[0], "_", mine))
    assert c.info()["ack_floor"]["stream_seq"] == 1
    c.ack(second_form(messages[1], "_", mine, ".extra"))
    c.ack(second_form(messages[2], "_", mine, ".extra.more"))
    for number, (domain, account) in enumerate([("D", mine), ("_", "12345678"), ("_", "x")], 3):
        odd = Pull(js).send(second_form(messages[number], domain, account).reply, ACK)
        c.ack(messages[0])
        js.fence()
        js.note([it.status for it in js.kept if it.sid == odd.sid])
    c.info()


@scenario("PULL-030")
@pytest.mark.parametrize(
    ("payload", "count"),
    [
        (b"+NXT", 1),
        (b"+NXT ", 1),
        (b"+NXT 2", 2),
        (b"+NXT  2", 2),
        (b"+NXT x", 1),
        (b'+NXT {"batch":2}', 2),
        (b'+NXT {"batch":2,"no_wait":true}', 2),
        (b'+NXT{"batch":2}', 2),
        (b"+NXT2", 2),
    ],
)
def test_next(js: JetStream, payload: bytes, count: int) -> None:
    stream(js, 5)
    c = consumer(js)
    (first,) = c.fetch()
    after = Pull(js).send(first.reply, payload)
    assert sequences(after.messages(count)) == list(range(2, 2 + count))
    info = c.settled(num_ack_pending=count, floor=1)
    assert info["num_waiting"] == 0
    after.nothing()


@scenario("PULL-030")
def test_next_on_empty(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js)
    (first,) = c.fetch()
    after = Pull(js).send(first.reply, b'+NXT {"no_wait":true}')
    assert after.status() == "404 No Messages"
    again = Pull(js).send(first.reply, b"+NXT")
    c.reached(num_waiting=1)
    js.publish("s.2")
    again.messages(1)
    bad = Pull(js).send(first.reply, b"+NXT {x")
    bad.next()
    c.cast(first, b"+NXT 3")
    c.settled(num_waiting=0, num_ack_pending=1)


@scenario("PULL-024")
def test_consumer_is_gone(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js)
    (message,) = c.fetch()
    c.delete()
    js.fence()
    assert js.request(message.reply, ACK).status == "503"


@own_server("DLV-025", config="feature_flags { js_ack_fc_v2: true }\n")
def test_replies_in_the_second_form(js: OwnServer) -> None:
    stream(js, 8)
    c = consumer(js)
    messages = c.fetch(6)
    assert messages[0].reply.startswith(f"$JS.ACK._.{account_hash('$G')}.S.C.1.1.1.")
    c.ack(messages[0])
    for message in messages[1:]:
        js.cast(message.reply, ACK)
    js.until(lambda: js.ask("CONSUMER.INFO.S.C")["num_ack_pending"] == 0)
    c.info()
