"""A backup of either server comes back on either server."""

from __future__ import annotations

import pytest

from tests.jetstream.backups import Backup, backup, restore
from tests.jetstream.consumers import add, info
from tests.jetstream.pulling import consumer
from tests.jetstream.support import JetStream, Json, Stage
from tests.support.server import KINDS, ORACLE, OURS, Kind

MANY = 6_000
WAYS = [(OURS, OURS), (OURS, ORACLE), (ORACLE, OURS)]


def open_server(stage: Stage, kind: Kind) -> JetStream:
    js = JetStream(*stage.server(kind))
    js.clear()
    return js


def fill(js: JetStream, storage: str) -> None:
    """Headers, removed messages, TTLs, consumers on their way."""
    js.create("S", subjects=["s.>"], storage=storage, allow_msg_ttl=True, max_msgs_per_subject=40)
    for i in range(300):
        ttl = {"Nats-TTL": "1h"} if i % 7 == 0 else {"Nats-TTL": "never"} if i % 11 == 0 else {}
        headers = {"Number": str(i), **ttl} if i % 2 else None
        js.publish(f"s.{i % 5}", b"payload %d " % i * (i % 30), headers)
    for seq in (150, 170, 300):
        js.ok("STREAM.MSG.DELETE.S", {"seq": seq})
    pulled = consumer(js, "C", max_deliver=9)
    for message in pulled.fetch(20)[::2]:
        pulled.ack(message)
    pulled.ack(pulled.fetch(1)[0], b"-NAK")
    pulled.fetch(1)
    add(js, "S", "F", durable_name="F", filter_subjects=["s.1", "s.3"], ack_policy="none")
    add(js, "S", "L", durable_name="L", deliver_policy="last_per_subject", filter_subject="s.*")


def facts(js: JetStream) -> list[object]:
    """What must be the same afterwards."""
    state = js.state("S", deleted_details=True, subjects_filter=">")
    del state["last_ts"]  # of the last message that is there, after a restore
    found: list[object] = [state]
    config = js.info("S")["config"]
    found.append(config)
    for name in ("C", "F", "L"):
        about: Json = info(js, "S", name)
        found += [about[key] for key in ("name", "config", "num_ack_pending", "num_redelivered")]
        found += [about["num_pending"], place(about, "delivered"), place(about, "ack_floor")]
    found += [entry for entry in backup(js, "S").entries() if entry.seq]
    return found


def place(about: Json, which: str) -> tuple[int, int]:
    return about[which]["consumer_seq"], about[which]["stream_seq"]


@pytest.mark.behaviour("MSG-046", "MSG-047")
@pytest.mark.parametrize("storage", ["file", "memory"])
@pytest.mark.parametrize(("source", "target"), WAYS)
def test_everything(stage: Stage, source: Kind, target: Kind, storage: str) -> None:
    giver = open_server(stage, source)
    fill(giver, storage)
    expected, made = facts(giver), backup(giver, "S")
    giver.delete("S")
    giver.close()
    taker = open_server(stage, target)
    restore(taker, "S", made.request, made.data)
    assert facts(taker) == expected
    taker.delete("S")
    taker.close()


@pytest.mark.behaviour("MSG-046")
def test_many(stage: Stage) -> None:
    """20,000 messages, there and back again."""
    kinds: list[Kind] = [OURS, *KINDS, OURS]
    made: Backup | None = None
    first: list[object] = []
    for kind in kinds:
        js = open_server(stage, kind)
        if made is None:
            publish_many(js)
        else:
            restore(js, "S", made.request, made.data)
        made = backup(js, "S", chunk_size=65_536)
        messages: list[object] = list(made.messages())
        assert len(messages) == MANY
        first = first or messages
        assert messages == first
        js.delete("S")
        js.close()


def publish_many(js: JetStream) -> None:
    js.create("S", subjects=["s.*"])
    sent = [b"PUB s.%d %d\r\n%b\r\n" % (i % 100, i % 200, b"x" * (i % 200)) for i in range(MANY)]
    for at in range(0, MANY, 1000):
        js.client.send(b"".join(sent[at : at + 1000]))
        js.client.exchange()
    js.settled("S", messages=MANY)
