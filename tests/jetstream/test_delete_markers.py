"""What is left on a subject when time removed its last message. One wait for all that can share it."""

from __future__ import annotations

import signal

import pytest

from tests.jetstream import consumers
from tests.jetstream.support import SECOND, STORAGES, JetStream, OwnServer, own_server, scenario

MARKER = (
    b"NATS/1.0\r\nNats-Marker-Reason: MaxAge\r\nNats-TTL: %b\r\nNats-Rollup: sub\r\n\r\n"
)  # fmt: skip
SHORT = {"Nats-TTL": "1s"}


def create(js: JetStream, name: str, storage: str, ttl: int = SECOND, **config: object) -> None:
    subjects = [f"{name.lower()}.>"]
    js.create(name, subjects=subjects, storage=storage, subject_delete_marker_ttl=ttl, **config)


def stored(js: JetStream, stream: str) -> None:
    """Everything that is there goes into the transcript."""
    state = js.info(stream, subjects_filter=">", deleted_details=True)["state"]
    gone = state.get("deleted", [])
    for seq in range(state["first_seq"], state["last_seq"] + 1):
        if seq not in gone:
            js.message(stream, seq=seq)


@STORAGES
@scenario("PUB-033", "PUB-034")
def test_markers(js: JetStream, storage: str) -> None:
    create(js, "A", storage, 3600 * SECOND, max_msgs_per_subject=1, allow_direct=True)
    create(js, "B", storage, 90 * SECOND + SECOND // 2, max_msgs_per_subject=1)
    create(js, "C", storage, max_age=SECOND, duplicate_window=SECOND)
    create(js, "D", storage)
    consumers.add(js, "A", "c", ack_policy="explicit", deliver_subject="to.me")
    js.listen("to.me")
    js.publish("a.1", b"x", SHORT)
    js.publish("b.1", b"x", SHORT)
    js.heard(1)
    assert js.heard(1)[0].headers == MARKER % b"1h0m0s"
    assert js.direct("A", last_by_subj="a.1").data == b""
    js.settled("B", last_seq=2)
    for stream in "AB":
        stored(js, stream)
    js.publish_refused("a.1", b"x", {"Nats-Expected-Last-Subject-Sequence": "1"})
    js.publish("a.1", b"x", {"Nats-Expected-Last-Subject-Sequence": "2"})
    js.heard(1)
    stored(js, "A")
    js.publish_all("c.1", "c.2", "c.1")
    js.publish("c.3", b"x", {"Nats-TTL": "never"})
    js.publish("c.4", b"x", {"Nats-TTL": "1h"})
    js.publish("d.1", b"x", SHORT)
    js.settled("D", last_seq=2)
    js.settled("D", messages=0)
    js.settled("C", messages=1, last_seq=8)
    for stream in "CD":
        stored(js, stream)


@STORAGES
@scenario("PUB-033", "PUB-034")
def test_who_leaves_a_marker(js: JetStream, storage: str) -> None:
    """One subject for each case; a second later what is left of them is compared."""
    copies = {"src": "a.ours", "dest": "R"}
    create(js, "A", storage, 3600 * SECOND, max_msgs_per_subject=1, republish=copies)
    js.listen("R")
    for reason in ("Mine", ""):
        js.publish(f"a.reason{reason}", b"x", {**SHORT, "Nats-Marker-Reason": reason})
    for operation in ("PURGE", "DEL", "purge"):
        js.publish(f"a.{operation}", b"x", {**SHORT, "KV-Operation": operation})
    js.publish("a.deleted", b"x", SHORT)
    js.ok("STREAM.MSG.DELETE.A", {"seq": 6})
    js.publish("a.purged", b"x", SHORT)
    js.ok("STREAM.PURGE.A", {"filter": "a.purged"})
    js.publish("a.replaced", b"x", SHORT)
    js.publish("a.replaced", b"y")
    js.publish("a.ours", b"x", SHORT)
    js.heard(2)
    stored(js, "A")


@STORAGES
@scenario("PUB-033", "PUB-034", "STR-079")
def test_only_the_last_message_leaves_a_marker(js: JetStream, storage: str) -> None:
    create(js, "A", storage)
    js.publish_all("a.older")
    js.publish("a.older", b"x", SHORT)
    js.publish("a.newer", b"x", SHORT)
    js.publish_all("a.newer")
    for _ in range(3):
        js.publish("a.many", b"x", SHORT)
    js.create("B", subjects=["b.>"], storage=storage, allow_msg_ttl=True)
    js.publish("b.1", b"x", SHORT)
    js.update("B", subjects=["b.>"], storage=storage, subject_delete_marker_ttl=3600 * SECOND)
    create(js, "C", storage)
    js.publish("c.1", b"x", SHORT)
    js.update("C", subjects=["c.>"], storage=storage, allow_msg_ttl=True)
    js.settled("A", last_seq=8)
    js.settled("A", messages=2)
    js.settled("B", last_seq=2)
    js.settled("C", messages=0)
    for stream in "ABC":
        stored(js, stream)


@STORAGES
@scenario("PUB-033")
def test_a_marker_that_finds_no_room(js: JetStream, storage: str) -> None:
    """Then the message it would replace stays, and goes when there is room."""
    create(js, "A", storage, discard="new", max_msgs=2)
    create(js, "B", storage, max_msg_size=60)
    create(js, "C", storage, discard="new", max_msgs_per_subject=1, discard_new_per_subject=True)
    js.publish("a.1", b"x", SHORT)
    js.publish("a.2")
    js.publish("b.1", b"x", SHORT)
    js.publish("c.1", b"x", SHORT)
    js.settled("C", last_seq=2)
    js.settled("C", messages=0)
    for stream in "AB":
        stored(js, stream)
    js.ok("STREAM.MSG.DELETE.A", {"seq": 2})
    js.settled("A", last_seq=3)
    stored(js, "A")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=lambda how: str(how.name))
@own_server("PUB-033", "PUB-034", "PUB-036")
def test_markers_are_written_after_a_restart(js: OwnServer, how: signal.Signals) -> None:
    create(js, "A", "file", 3600 * SECOND, max_msgs_per_subject=1)
    create(js, "B", "file")
    create(js, "C", "file", max_age=SECOND, duplicate_window=SECOND)
    js.publish("a.1", b"x", SHORT)
    js.publish("b.1", b"x", SHORT)
    js.publish_all("c.1", "c.2", "c.1")
    js.restart(how)
    js.settled("A", last_seq=2)
    js.settled("B", last_seq=2)
    js.restart(how)
    js.settled("B", messages=0)
    js.settled("C", messages=0, last_seq=5)
    for stream in "ABC":
        stored(js, stream)
