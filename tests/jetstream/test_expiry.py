"""What time removes. These tests take as long as the shortest limits that nats-server accepts."""

from __future__ import annotations

from tests.jetstream.support import LATER, SECOND, STORAGES, ZERO_TIME, JetStream, scenario

SHORT = SECOND // 10


@STORAGES
@scenario("PUB-026")
def test_max_age(js: JetStream, storage: str) -> None:
    js.create("S", subjects=["s.*"], storage=storage, max_age=SHORT, duplicate_window=SHORT)
    js.publish_all("s.1", "s.2")
    state = js.settled("S", messages=0)
    assert (state["first_seq"], state["last_seq"], state["bytes"]) == (3, 2, 0)
    assert state["first_ts"] == ZERO_TIME
    assert state["last_ts"] != ZERO_TIME
    assert js.publish("s.1")["seq"] == 3


@STORAGES
@scenario("PUB-026", "STR-079")
def test_max_age_by_update(js: JetStream, storage: str) -> None:
    js.create("S", subjects=["s.*"], storage=storage)
    js.publish_all("s.1", "s.2")
    js.update("S", subjects=["s.*"], storage=storage, max_age=SHORT)
    js.settled("S", messages=0)


@LATER
@STORAGES
@scenario("PUB-029", "PUB-032")
def test_message_ttl(js: JetStream, storage: str) -> None:
    js.create("S", subjects=["s.*"], storage=storage, allow_msg_ttl=True)
    js.publish("s.1", b"x", {"Nats-TTL": "1s"})
    js.publish("s.2", b"x", {"Nats-TTL": "never"})
    js.publish("s.3", b"x", {"Nats-TTL": "2h"})
    state = js.settled("S", messages=2)
    assert (state["first_seq"], state["last_seq"]) == (2, 3)
    assert js.refused("STREAM.MSG.GET.S", {"seq": 1})["err_code"] == 10037


@LATER
@scenario("PUB-031")
def test_bad_ttl(js: JetStream) -> None:
    js.create("S", allow_msg_ttl=True)
    for value in ("0", "0s", "999ms", "x", "-1s", "-5", "1.5", "NEVER"):
        js.publish("S", b"", {"Nats-TTL": value})
    for value in ("0s", "999ms", "x"):
        error = js.publish_refused("S", b"", {"Nats-TTL": value})
        assert (error["code"], error["err_code"]) == (400, 10165)
    for value in ("1", "1s", "1h30m", "1500ms", "90s", "never", ""):
        js.publish("S", b"", {"Nats-TTL": value})
    js.ok("STREAM.PURGE.S")
