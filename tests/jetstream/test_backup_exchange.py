"""A backup of either server comes back on either server."""

from __future__ import annotations

import pytest

from tests.jetstream.backups import backup, restore
from tests.jetstream.consumers import add, info
from tests.jetstream.pulling import consumer
from tests.jetstream.support import JetStream, Json, Stage
from tests.support.server import ORACLE, OURS, Kind
from tests.support.wire import hpub, pub

MANY = 3_000  # more than a run and a chunk of any kind
RUN = 1000
CHUNK = 65_536
WAYS = [(OURS, OURS), (OURS, ORACLE), (ORACLE, OURS)]


def open_server(stage: Stage, kind: Kind) -> JetStream:
    js = JetStream(*stage.server(kind))
    js.clear()
    return js


def fill(js: JetStream, storage: str, count: int = 300) -> None:
    """Headers, removed messages, TTLs, consumers on their way."""
    each = count * 40 // 300
    js.create("S", subjects=["s.>"], storage=storage, allow_msg_ttl=True, max_msgs_per_subject=each)
    for at in range(0, count, RUN):
        js.client.send(b"".join(map(published, range(at, min(at + RUN, count)))))
        js.client.exchange()
    js.settled("S", last_seq=count)
    for seq in range(count // 2, count + 1, count // 8):
        js.ok("STREAM.MSG.DELETE.S", {"seq": seq})
    pulled = consumer(js, "C", max_deliver=9)
    for message in pulled.fetch(20)[::2]:
        pulled.ack(message)
    pulled.ack(pulled.fetch(1)[0], b"-NAK")
    pulled.fetch(1)
    add(js, "S", "F", durable_name="F", filter_subjects=["s.1", "s.3"], ack_policy="none")
    add(js, "S", "L", durable_name="L", deliver_policy="last_per_subject", filter_subject="s.*")


def published(i: int) -> bytes:
    ttl = {"Nats-TTL": "1h"} if i % 7 == 0 else {"Nats-TTL": "never"} if i % 11 == 0 else {}
    data = b"payload %d " % i * (i % 30)
    subject = b"s.%d" % (i % 5)
    if i % 2 == 0:
        return pub(subject, data)
    lines = [f"{name}: {value}\r\n" for name, value in {"Number": i, **ttl}.items()]
    return hpub(subject, "".join(["NATS/1.0\r\n", *lines, "\r\n"]).encode(), data)


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
    exchange(stage, [source, target], storage, 300)


@pytest.mark.behaviour("MSG-046")
def test_many(stage: Stage) -> None:
    """There and back again, in many chunks and runs. `python -m tests.backup` does it with 100,000."""
    exchange(stage, [OURS, ORACLE, OURS], "file", MANY)


def exchange(stage: Stage, ways: list[Kind], storage: str, count: int) -> int:
    """A stream of the first server goes from each to the next. Returns the size of the last backup."""
    giver = open_server(stage, ways[0])
    fill(giver, storage, count)
    expected = facts(giver)
    for target in ways[1:]:
        made = backup(giver, "S", chunk_size=CHUNK)
        giver.delete("S")
        giver.close()
        giver = open_server(stage, target)
        restore(giver, "S", made.request, made.data)
        assert facts(giver) == expected
    giver.delete("S")
    giver.close()
    return len(made.data)
