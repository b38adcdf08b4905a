"""What time removes. These tests take as long as the shortest limits that nats-server accepts."""

from __future__ import annotations

from tests.jetstream.support import SECOND, STORAGES, ZERO_TIME, JetStream, scenario

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
