"""Mirrors and sources through a consumer that somebody made for them."""

from __future__ import annotations

import signal

from tests.jetstream.copies import compact, links, origin, stored, synced
from tests.jetstream.support import API, SECOND, JetStream, Json, OwnServer, own_server, scenario

FLOW: Json = {"ack_policy": "flow_control", "flow_control": True, "idle_heartbeat": SECOND}


def prepare(js: JetStream, name: str, **config: object) -> Json:
    """A consumer of O; what a source says of it."""
    deliver = f"to.{name}"
    config = {"name": name, "durable_name": name, "deliver_subject": deliver, **config}
    js.ok(f"CONSUMER.CREATE.O.{name}", {"stream_name": "O", "config": config})
    return {"name": "O", "consumer": {"name": name, "deliver_subject": deliver}}


@scenario("MIR-016")
def test_copies_through_a_consumer(js: JetStream) -> None:
    """What the consumer delivers is copied, and acked; a transform renames, and filters nothing."""
    origin(js)
    js.create("S", sources=[prepare(js, "C", **FLOW)])
    synced(js, "S", last_seq=4)
    assert stored(js, "S")[0]["hdrs"].startswith("NATS/1.0\r\nNats-Stream-Source: O:C=")
    transforms = [{"src": "o.0", "dest": "x.0"}]
    js.create("T", sources=[prepare(js, "D", **FLOW) | {"subject_transforms": transforms}])
    js.create("M", mirror=prepare(js, "E", filter_subject="o.1", **FLOW))
    js.publish_all("o.0", "o.1")
    for name, count in (("S", 6), ("T", 6), ("M", 3)):
        synced(js, name, messages=count)
        stored(js, name)
    js.until(lambda: js.ask("CONSUMER.INFO.O.C")["ack_floor"]["stream_seq"] == 6)
    js.delete("S")
    js.ok("CONSUMER.NAMES.O")  # it is not theirs to delete


@scenario("MIR-016")
def test_consumers_that_will_not_do(js: JetStream) -> None:
    origin(js)
    plain = prepare(js, "P", ack_policy="none")
    nobody = {"name": "O", "consumer": {"name": "nobody", "deliver_subject": "to.nobody"}}
    js.create("S", sources=[plain])
    js.create("M", mirror=plain)
    js.create("N", mirror=nobody)

    def refused() -> bool:
        return all("error" in links(js.ask(f"STREAM.INFO.{name}"))[0] for name in ("S", "M"))

    js.until(refused)
    for name in ("S", "M", "N"):
        info = js.info(name)
        js.note(compact(links(info)[0]))
    twice = {"name": "O", "consumer": {"name": "P", "deliver_subject": "to.other"}}
    js.create_refused("X", sources=[plain, twice])
    for wrong in (
        {"consumer": {"name": "a b", "deliver_subject": "to"}},
        {"consumer": {"name": "P", "deliver_subject": "to.>"}},
        {"consumer": {"name": "P"}},
        {"consumer": {"name": "P", "deliver_subject": "to"}, "filter_subject": "o.1"},
        {"consumer": {"name": "P", "deliver_subject": "to"}, "opt_start_seq": 2},
    ):
        js.create_refused("X", sources=[{"name": "O", **wrong}])
        js.create_refused("X", mirror={"name": "O", **wrong})


@scenario("MIR-016")
def test_a_reset_tells_the_identity(js: JetStream) -> None:
    """To those who ask for it, whatever they took it for."""
    origin(js)
    prepare(js, "C", **FLOW)
    told = []
    for known in ("", "wrong"):
        answer = js.replies(
            f"{API}CONSUMER.RESET.O.C", b"", {"Nats-Stream-Identity": known}, lambda it: True
        )[0]
        js.lines.pop()  # the identity differs
        told.append(answer.headers)
        assert answer.json["reset_seq"] == 1
    assert told[0] == told[1]
    assert told[0].startswith(b"NATS/1.0\r\nNats-Stream-Identity: ")
    assert js.request(f"{API}CONSUMER.RESET.O.C").headers == b""


@own_server("MIR-016")
def test_a_restart(js: OwnServer) -> None:
    """They go on where they were."""
    origin(js, retention="workqueue")
    js.create("S", sources=[prepare(js, "C", **FLOW)])
    synced(js, "S", last_seq=4)
    js.until(lambda: js.ask("STREAM.INFO.O")["state"]["messages"] == 0)  # acked
    js.restart(signal.SIGTERM)
    js.publish_all("o.1")
    synced(js, "S", last_seq=5)
    stored(js, "S")
