"""Publishes and API requests that come faster than they can be dealt with."""

from __future__ import annotations

from tests.jetstream.members import SYSTEM, Member, account, accounts
from tests.jetstream.support import API, OwnServer, own_server

SMALL = "jetstream { max_buffered_size: 1000 }\n"
LIMITED = accounts(
    SYSTEM, account("A", ""), server="jetstream { domain: hub, request_queue_limit: 3 }"
)
DROPPING = "Dropping messages due to excessive stream ingest rate on '$G' > 'S': IPQ size"


@own_server("PUB-046", config=SMALL)
def test_a_message_that_does_not_fit(js: OwnServer) -> None:
    """Subject, reply, headers and payload count; it is refused before the stream looks at it."""
    js.create("S", subjects=["s.>"], no_ack=True)
    js.create("T", subjects=["t.>"], storage="memory", max_msg_size=10)
    js.create("U", subjects=["u.>"])
    for stream in ("s", "t"):
        answer = js.request(f"{stream}.a", bytes(1000))
        assert answer.headers == b"NATS/1.0 429 Too Many Requests\r\n\r\n"
        assert answer.json["error"]["err_code"] == 10167
    reply = f"{js.inboxes}.{js.requests + 1}"
    js.publish("u.a", bytes(1000 - len("u.a" + reply)))
    js.publish_refused("u.a", bytes(1001 - len("u.a" + reply)))
    headers = {"Own": "header"}
    js.publish("u.a", bytes(1000 - len(f"u.a{reply}NATS/1.0\r\nOwn: header\r\n\r\n")), headers)
    js.publish_refused("u.a", bytes(1001 - len(f"u.a{reply}NATS/1.0\r\n\r\n")), headers)
    js.cast("u.a", bytes(1000))
    js.publish("u.a", b"small")
    js.note(js.state("U")["messages"])
    js.note(DROPPING in js.server.log())


@own_server("DLV-044", config=LIMITED)
def test_requests_that_are_dropped(js: OwnServer) -> None:
    """Some of a flood are answered; those that wait when there are too many are not, and that is told."""
    system = Member(js, "SYS")
    system.listen("$JS.EVENT.ADVISORY.API.>")
    flood = b"PUB %bSTREAM.NAMES _INBOX.flood 0\r\n\r\n" % API.encode() * 3000
    js.client.send(flood)
    advisory = system._read().json
    while advisory["dropped"] != 3:  # nats-server may have begun with them meanwhile
        advisory = system._read().json
    assert advisory.pop("server") == js.server.client().info["server_id"]
    js.note([*advisory, advisory["type"], advisory["domain"]])
    dropping = "JetStream API info queue limit reached, dropping 3 requests"
    js.until(lambda: dropping in js.server.log())
    system.close()
