"""What survives the end of the server, asked nicely and not."""

from __future__ import annotations

import signal

import pytest

from tests.jetstream.support import SECOND, OwnServer, own_server

SIGNALS = pytest.mark.parametrize(
    "how", [signal.SIGTERM, signal.SIGKILL], ids=lambda how: str(how.name)
)


@SIGNALS
@own_server("STR-114", "STR-115", "STR-116")
def test_streams_survive(js: OwnServer, how: signal.Signals) -> None:
    js.create(
        "S", subjects=["s.>", "t"], description="kept <as> is", metadata={"a": "b"}, max_msgs=50,
        allow_direct=True, duplicate_window=60 * SECOND,
    )  # fmt: skip
    js.create("Empty")
    js.create("M", storage="memory")
    js.publish_all("s.1", "s.2", "s.1", "s.3.x", "M")
    js.publish("t", b"headed", {"A": "b"})
    js.ok("STREAM.MSG.DELETE.S", {"seq": 2})
    before = js.info("S", subjects_filter=">", deleted_details=True)
    empty = js.info("Empty")
    message = js.message("S", last_by_subj="t")
    js.restart(how)
    after = js.info("S", subjects_filter=">", deleted_details=True)
    for key in ("config", "created", "state"):
        assert after[key] == before[key]
    assert js.info("Empty")["state"] == empty["state"]
    assert js.message("S", last_by_subj="t") == message
    assert js.direct("S", seq=5).data == b"headed"
    assert js.ok("STREAM.NAMES")["streams"] == ["Empty", "S"]
    assert js.request("M").status == "503"
    assert js.publish("s.1")["seq"] == 6
    assert js.publish("Empty")["seq"] == 1
    js.ok("STREAM.LIST")
    js.ok("INFO")


@SIGNALS
@own_server("PUB-004")
def test_duplicates_are_still_known(js: OwnServer, how: signal.Signals) -> None:
    js.create("S")
    js.publish("S", b"x", {"Nats-Msg-Id": "1"})
    js.publish("S", b"x", {"Nats-Msg-Id": "2"})
    js.publish("S", b"x")
    js.restart(how)
    assert js.publish("S", b"x", {"Nats-Msg-Id": "2"}) == {
        "stream": "S",
        "seq": 2,
        "duplicate": True,
    }
    assert js.publish("S", b"x", {"Nats-Msg-Id": "1"})["duplicate"] is True
    assert js.publish("S", b"x", {"Nats-Msg-Id": "3"})["seq"] == 4
    assert js.publish("S", b"x", {"Nats-Expected-Last-Msg-Id": "3"})["seq"] == 5


@SIGNALS
@own_server("PUB-013")
def test_last_message_id_is_still_known(js: OwnServer, how: signal.Signals) -> None:
    js.create("S")
    js.publish("S", b"x", {"Nats-Msg-Id": "1"})
    js.restart(how)
    js.publish_refused("S", b"x", {"Nats-Expected-Last-Msg-Id": "2"})
    js.publish("S", b"x", {"Nats-Expected-Last-Msg-Id": "1"})


@SIGNALS
@own_server("STR-115", "STR-108")
def test_sequences_go_on(js: OwnServer, how: signal.Signals) -> None:
    """Emptied in every way, a stream does not count anew."""
    for name in ("Purged", "Deleted", "Limited", "Interest"):
        config = {"retention": "interest"} if name == "Interest" else {}
        js.create(name, **config, **({"max_msgs": 1} if name == "Limited" else {}))
        js.publish_all(*[name] * 3)
    js.ok("STREAM.PURGE.Purged")
    for sequence in (1, 3, 2):
        js.ok("STREAM.MSG.DELETE.Deleted", {"seq": sequence})
    names = ("Purged", "Deleted", "Limited", "Interest")
    before = [js.state(name) for name in names]
    js.restart(how)
    for name, state in zip(names, before, strict=True):
        again = js.state(name)
        assert (again["messages"], again["bytes"]) == (state["messages"], state["bytes"])
        assert (again["first_seq"], again["last_seq"]) == (state["first_seq"], state["last_seq"])
        assert js.publish(name)["seq"] == 4


@SIGNALS
@own_server("STR-107", "STR-115")
def test_first_sequence_survives(js: OwnServer, how: signal.Signals) -> None:
    """Off the record: nats-server then shows a last_ts in the year 1754."""
    js.create("S", first_seq=100)
    js.restart(how)
    state = js.ask("STREAM.INFO.S")["state"]
    assert (state["first_seq"], state["last_seq"]) == (100, 99)
    assert js.publish("S")["seq"] == 100
    js.restart(how)
    js.state("S")


@SIGNALS
@own_server("STR-117")
def test_sealed_stays_sealed(js: OwnServer, how: signal.Signals) -> None:
    js.create("S")
    js.publish("S", b"x")
    config = js.update("S", sealed=True)["config"]
    js.restart(how)
    assert js.info("S")["config"] == config
    assert js.publish_refused("S")["err_code"] == 10109


@SIGNALS
@own_server("STR-115", "STR-079")
def test_changes_survive(js: OwnServer, how: signal.Signals) -> None:
    js.create("S", subjects=["s.*"])
    js.create("T")
    js.publish_all("s.1", "s.2", "s.1", "s.1")
    config = js.update("S", subjects=["s.*", "u"], max_msgs_per_subject=1)["config"]
    js.publish("s.2", b"y")
    js.delete("T")
    js.restart(how)
    assert js.info("S", subjects_filter=">", deleted_details=True)["config"] == config
    assert js.ok("STREAM.NAMES")["streams"] == ["S"]
    assert js.publish("u")["seq"] == 6
    js.create("T")


@own_server("STR-115", "PUB-004")
def test_again_and_again(js: OwnServer) -> None:
    js.create("S", subjects=["s.*"], max_msgs_per_subject=3)
    for cycle in range(4):
        for number in range(5):
            js.publish(f"s.{number % 2}", b"x" * cycle, {"Nats-Msg-Id": f"{cycle}-{number}"})
        js.restart(signal.SIGKILL if cycle % 2 else signal.SIGTERM)
        assert js.publish("s.0", b"", {"Nats-Msg-Id": f"{cycle}-0"})["duplicate"] is True
        js.info("S", subjects_filter=">", deleted_details=True)


@own_server("PUB-026", "STR-115")
def test_age_goes_on_while_the_server_is_down(js: OwnServer) -> None:
    js.create("S", max_age=SECOND // 5, duplicate_window=SECOND // 5)
    js.publish_all("S", "S")
    js.restart(signal.SIGKILL)
    state = js.settled("S", messages=0)
    assert (state["first_seq"], state["last_seq"]) == (3, 2)
