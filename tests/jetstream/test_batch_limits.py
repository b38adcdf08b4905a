"""Limits of batches from the configuration, time-outs, restarts."""

from __future__ import annotations

import signal

import pytest

from tests.jetstream.batches import ABANDONED, Fast, advisories, part
from tests.jetstream.support import OwnServer, own_server

FEW = """
jetstream {
  domain: hub
  limits { batch { max_inflight_per_stream: 2, max_inflight_total: 3, max_msgs: 3, timeout: "%s" } }
}
"""


@own_server("PUB-055", "PUB-066", config=FEW % "1h")
def test_configured_limits(js: OwnServer) -> None:
    js.listen(ABANDONED)
    for name in "stm":
        js.create(name, subjects=[f"{name}.>"], allow_atomic=True, allow_batched=True)
    for commit in ("1", "eob"):
        for seq in (1, 2, 3):
            js.request("s.a", b"", part("b", seq))
        js.request("s.a", b"", part("b", 4, commit))
        advisories(js)
    js.publish_refused("s.a", b"", part("b", 5))
    for seq in (1, 2, 3):
        js.request("s.a", b"", part("b", seq))
    js.publish_refused("s.a", b"", part("b", 4, Nats_Required_Api_Level="99"))
    assert advisories(js) == [("b", "unsupported")]
    for stream, batch in ("sx", "sy", "sz", "tx", "ty", "mx"):
        js.request(f"{stream}.a", b"", part(batch, 1))
    js.publish("s.a", b"", part("x", 2, "1"))
    js.request("m.a", b"", part("x", 1))
    js.delete("t")
    js.request("m.a", b"", part("y", 1))
    js.state("s")


@own_server("PUB-069", config=FEW % "1h")
def test_configured_limits_of_fast_ones(js: OwnServer) -> None:
    js.listen("_F.>")
    for name in "stm":
        js.create(name, subjects=[f"{name}.>"], allow_batched=True)
    for stream, batch in ("sx", "sy", "sz", "tx", "ty", "mx"):
        Fast(js, batch).say(1, 0, subject=f"{stream}.a")
    for seq in (2, 3, 4, 5):
        Fast(js, "x").say(seq, 1)
    Fast(js, "x").say(6, 2)
    Fast(js, "z").say(1, 0, subject="m.a")


@own_server("PUB-065", config=FEW % "50ms")
def test_time_outs(js: OwnServer) -> None:
    js.listen(ABANDONED, "_F.>")
    js.create("s", subjects=["s.>"], allow_atomic=True, allow_batched=True)
    js.request("s.a", b"", part("b", 1))
    [advisory] = js.heard(1)
    assert advisory.json["reason"] == "timeout"
    js.publish_refused("s.a", b"", part("b", 2, "1"))
    Fast(js).say(1, 0)
    js.request("s.a", b"", part("b", 1))
    js.heard(1)  # by then the other one has rested longer
    Fast(js).say(2, 2)
    js.state("s")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@own_server("PUB-067", "PUB-068")
def test_restart(js: OwnServer, how: signal.Signals) -> None:
    js.create("S", subjects=["s.>"], allow_atomic=True)
    js.request("s.a", b"", part("a", 1))
    js.publish("s.a", b"", part("a", 2, "1"))
    js.request("s.a", b"", part("b", 1))
    js.restart(how)
    js.publish_refused("s.a", b"", part("b", 2, "1"))
    assert js.state("S")["messages"] == 2
