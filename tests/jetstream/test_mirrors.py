"""Mirrors: streams that are copies of another one."""

from __future__ import annotations

import json
import signal

import pytest

from tests.jetstream import pulling
from tests.jetstream.copies import origin, stored, synced, times
from tests.jetstream.support import STORAGES, JetStream, Json, OwnServer, own_server, scenario

MIRROR: Json = {"name": "O"}
DEMANDS = {"Nats-Expected-Stream": "O", "Nats-Expected-Last-Sequence": "4", "A": "b"}


@STORAGES
@scenario("MIR-001", "MIR-002", "MIR-003", "MIR-005", "MIR-015")
def test_a_mirror_is_a_copy(js: JetStream, storage: str) -> None:
    origin(js, storage=storage)
    js.ok("STREAM.MSG.DELETE.O", {"seq": 2})
    js.publish("o.2", b"demanding", DEMANDS)
    js.publish("o.2", b"bare", {"Nats-Expected-Stream": "O"})
    js.publish("o.3", b"with an id", {"Nats-Msg-Id": "1"})
    made = js.create("M", mirror=MIRROR, storage=storage)
    assert made["mirror"] == {"name": "O", "lag": 0, "active": -1}
    assert "duplicate_window" not in made["config"]
    assert synced(js, "M", last_seq=7)["num_deleted"] == 1
    assert times(js, "M") == times(js, "O")
    js.publish("o.1", b"later")
    js.ok("STREAM.MSG.DELETE.O", {"seq": 3})
    synced(js, "M", last_seq=8, messages=7)  # what is deleted later stays in the copy
    js.info("M")
    assert js.request("M").status == "503"


@scenario("MIR-004")
@pytest.mark.parametrize("direct", [True, False])
def test_a_mirror_answers_direct_gets_if_its_origin_does(js: JetStream, direct: bool) -> None:
    origin(js, allow_direct=direct)
    assert (
        js.create("M", mirror=MIRROR, mirror_direct=not direct)["config"]["mirror_direct"] is direct
    )


@scenario("MSG-040")
def test_direct_gets_go_to_the_mirror_when_the_origin_is_gone(js: JetStream) -> None:
    origin(js, allow_direct=True)
    js.create("M", mirror=MIRROR)
    synced(js, "M", last_seq=4)
    assert js.direct("M", seq=2).status == "503"
    js.delete("O")
    assert js.direct("O", seq=2).header("Nats-Stream") == "M"
    assert js.request("$JS.API.DIRECT.GET.O.o.1").header("Nats-Sequence") == "4"
    js.delete("M")
    assert js.direct("O", seq=2).status == "503"


@scenario("MIR-009")
def test_nobody_sees_the_consumers_of_mirrors(js: JetStream) -> None:
    origin(js)
    js.create("M", mirror=MIRROR)
    js.create("S", sources=[MIRROR])
    synced(js, "M", last_seq=4)
    synced(js, "S", last_seq=4)
    assert js.state("O")["consumer_count"] == 0
    assert js.ok("CONSUMER.NAMES.O")["consumers"] == []
    assert js.ask("INFO")["consumers"] == 2  # but here they are counted
    js.delete("M")
    js.until(lambda: js.ask("INFO")["consumers"] == 1)


CASES: list[tuple[Json, Json, int]] = [
    ({"opt_start_seq": 3}, {}, 4),
    ({"filter_subject": "o.1"}, {}, 4),
    ({"filter_subject": "o.0"}, {}, 3),
    ({"subject_transforms": [{"src": "o.1", "dest": "x.1"}]}, {}, 4),
    ({"subject_transforms": [{"src": "o.1", "dest": "x"}, {"src": "o.0", "dest": ""}]}, {}, 4),
    ({"subject_transforms": [{"src": "o.*", "dest": "x.{{wildcard(1)}}.y"}]}, {}, 4),
    ({}, {"subject_transform": {"src": "o.>", "dest": "all.>"}}, 4),
    ({}, {"max_msgs": 2}, 4),
    ({}, {"max_bytes": 80}, 4),
    ({}, {"max_msgs_per_subject": 1}, 4),
    ({}, {"retention": "interest"}, 4),
    ({}, {"retention": "workqueue"}, 4),
]


@pytest.mark.parametrize(("asked", "config", "last"), CASES, ids=json.dumps)
@scenario("MIR-011")
def test_what_a_mirror_takes(js: JetStream, asked: Json, config: Json, last: int) -> None:
    origin(js)
    js.create("M", mirror=MIRROR | asked, **config)
    synced(js, "M", last_seq=last)
    stored(js, "M")
    js.publish_all("o.0", "o.1")
    synced(js, "M", last_seq=last + 2)
    stored(js, "M")
    js.info("M")


@scenario("MIR-011")
def test_a_mirror_may_start_at_a_time(js: JetStream) -> None:
    origin(js)
    time = js.ask("STREAM.MSG.GET.O", {"seq": 3})["message"]["time"]
    js.create("M", mirror=MIRROR | {"opt_start_time": time})
    assert synced(js, "M", last_seq=4)["first_seq"] == 3


@scenario("MIR-011")
def test_a_mirror_may_start_beyond_the_end(js: JetStream) -> None:
    origin(js)
    js.create("M", mirror=MIRROR | {"opt_start_seq": 10})
    assert synced(js, "M", last_seq=9)["first_seq"] == 10
    js.publish_all(*["o.1"] * 8)
    assert synced(js, "M", last_seq=12)["messages"] == 3


@scenario("MIR-015")
def test_the_beginning_of_a_purged_origin_is_a_gap(js: JetStream) -> None:
    origin(js)
    js.ok("STREAM.PURGE.O", {"seq": 3})
    js.create("M", mirror=MIRROR)
    assert synced(js, "M", last_seq=4)["first_seq"] == 3
    js.ok("STREAM.PURGE.O")
    js.create("N", mirror=MIRROR)
    assert synced(js, "N", last_seq=4)["first_seq"] == 5


@pytest.mark.parametrize("allowed", [True, False])
@scenario("MIR-001")
def test_rollups_in_a_mirror(js: JetStream, allowed: bool) -> None:
    """They mean something where they are allowed, and are headers like any where they are not."""
    origin(js, allow_rollup_hdrs=True)
    js.create("M", mirror=MIRROR, allow_rollup_hdrs=allowed)
    synced(js, "M", last_seq=4)
    js.publish("o.1", b"", {"Nats-Rollup": "sub"})
    synced(js, "M", last_seq=5)
    assert len(stored(js, "M")) == (3 if allowed else 5)


@scenario("MIR-001")
def test_a_full_mirror_waits_for_room(js: JetStream) -> None:
    origin(js, count=6)
    js.create("M", mirror=MIRROR, max_msgs=2, discard="new")
    js.until(lambda: js.ask("STREAM.INFO.M")["mirror"]["lag"] == 2)
    assert js.state("M")["last_seq"] == 2


@scenario("MIR-001")
def test_a_mirror_republishes(js: JetStream) -> None:
    js.create("O", subjects=["o.>"])
    js.create("M", mirror=MIRROR, republish={"src": ">", "dest": "copy.>"})
    synced(js, "M")
    js.listen("copy.>")
    js.publish("o.1", b"x", {"A": "b"})
    assert js.heard(1)[0].header("Nats-Stream") == "M"


@scenario("MIR-001")
def test_consumers_of_a_mirror(js: JetStream) -> None:
    origin(js)
    js.ok("STREAM.MSG.DELETE.O", {"seq": 2})
    js.create("M", mirror=MIRROR)
    synced(js, "M", last_seq=4)
    consumer = pulling.consumer(js, stream="M")
    js.publish("o.7", b"fresh")
    synced(js, "M", last_seq=5)
    consumer.fetch(4)


@scenario("STR-078")
def test_promotion(js: JetStream) -> None:
    origin(js)
    js.create("M", mirror=MIRROR)
    synced(js, "M", last_seq=4)
    assert js.update("M")["config"]["subjects"] == ["M"]
    assert "mirror" not in js.update("M", subjects=["promoted"])
    js.publish_all("o.1", "promoted")
    assert js.settled("M", last_seq=5)["messages"] == 5
    assert js.update_refused("M", mirror=MIRROR)["err_code"] == 10055
    js.until(lambda: js.ask("INFO")["consumers"] == 0)


@scenario("MIR-001")
def test_an_update_leaves_a_mirror_at_work(js: JetStream) -> None:
    origin(js)
    js.create("M", mirror=MIRROR)
    synced(js, "M", last_seq=4)
    assert js.update("M", mirror=MIRROR, max_msgs=3)["mirror"]["active"] >= 0
    assert js.update_refused("M", mirror={"name": "P"})["err_code"] == 10055
    js.publish("o.1")
    assert synced(js, "M", last_seq=5)["messages"] == 3


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@own_server("MIR-010", "MIR-014")
def test_mirrors_go_on_after_a_restart(js: OwnServer, how: signal.Signals) -> None:
    origin(js)
    js.create("M", mirror=MIRROR)
    js.create("N", mirror={"name": "LATER"})
    synced(js, "M", last_seq=4)
    js.until(lambda: "error" in js.ask("STREAM.INFO.N")["mirror"])
    js.info("N")
    js.create("LATER", subjects=["later"])
    js.publish("later")
    js.restart(how)
    js.publish("o.1")
    synced(js, "M", last_seq=5)
    synced(js, "N", last_seq=1)
    assert times(js, "M") == times(js, "O")
    assert times(js, "N") == times(js, "LATER")


@own_server("MIR-013")
def test_a_mirror_goes_on_with_an_origin_made_again(js: OwnServer) -> None:
    origin(js)
    js.create("M", mirror=MIRROR)
    synced(js, "M", last_seq=4)
    js.delete("O")
    origin(js, count=6)
    js.restart(signal.SIGTERM)
    synced(js, "M", last_seq=6)
    assert times(js, "M").items() >= {5: times(js, "O")[5], 6: times(js, "O")[6]}.items()
