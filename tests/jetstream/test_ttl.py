"""Messages that live as long as their Nats-TTL says. A second is the shortest TTL there is, so what has to be
waited for is waited for together."""

from __future__ import annotations

import signal

import pytest

from tests.jetstream import consumers
from tests.jetstream.support import (
    SECOND,
    STORAGES,
    Headers,
    JetStream,
    Json,
    OwnServer,
    own_server,
    scenario,
)

GOOD = (
    "1", "01", "90", "1s", "+1s", " 1s", "1.5s", "1000ms", "1h30m", "2562047h", "never", "NEVER", "",
    "00", "9223372036854775807", "99999999999999999999",
)  # fmt: skip
BAD = (
    "0", "0s", "999ms", "x", "-1s", "-5", "+1", "1.5", "1 s", "1s ", "never ", "1d", "1µs", "1_0", "0x10",
    "2562048h", "9223372036854775808", "-", ".", "é",
)  # fmt: skip


@pytest.mark.parametrize("allowed", [True, False])
@scenario("PUB-030", "PUB-031")
def test_what_a_ttl_may_be(js: JetStream, allowed: bool) -> None:
    js.create("S", allow_msg_ttl=allowed)
    for value in BAD:
        error = js.publish_refused("S", b"x", {"Nats-TTL": value})
        assert (error["code"], error["err_code"]) == (400, 10165)
    for value in GOOD:
        answer = js.publish("S", b"x", {"Nats-TTL": value})
        refused = not allowed and value not in ("", "00")
        assert answer.get("error", {}).get("err_code") == (10166 if refused else None)
        if not refused:  # and kept as it was written
            js.message("S", seq=answer["seq"])
            js.ok("STREAM.MSG.DELETE.S", {"seq": answer["seq"]})


OTHERS: list[dict[str, str]] = [
    {"Nats-Expected-Stream": "T"},
    {"Nats-Expected-Last-Sequence": "9"},
    {"Nats-Expected-Last-Subject-Sequence": "9"},
    {"Nats-Expected-Last-Msg-Id": "9"},
    {"Nats-Msg-Id": "seen"},
    {"Nats-Msg-Id": "new"},
    {"Nats-Rollup": "sub"},
    {"Nats-Incr": "1"},
    {"Nats-Schedule": "x"},
    {"Nats-Stream-Source": "x"},
    {"Nats-Batch-Id": "x"},
]


@pytest.mark.parametrize("more", OTHERS, ids=str)
@pytest.mark.parametrize("ttl", ["x", "1h"])
@pytest.mark.parametrize("allowed", [True, False])
@scenario("PUB-030", "PUB-031")
def test_which_check_comes_first(
    js: JetStream, allowed: bool, ttl: str, more: dict[str, str]
) -> None:
    js.create("S", allow_msg_ttl=allowed)
    js.publish("S", b"x", {"Nats-Msg-Id": "seen"})
    js.publish("S", b"x", {"Nats-TTL": ttl, **more})
    js.publish("S", b"x", more)  # an id of a message that was refused is not a duplicate
    js.state("S")


@pytest.mark.parametrize("ttl", ["x", "1h"])
@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize(
    "config",
    [
        {"max_msg_size": 5},
        {"max_msgs": 1, "discard": "new"},
        {"retention": "interest"},
    ],
    ids=str,
)
@scenario("PUB-030", "PUB-031")
def test_ttls_and_limits(js: JetStream, config: Json, allowed: bool, ttl: str) -> None:
    js.create("S", allow_msg_ttl=allowed, **config)
    js.publish("S", b"x")
    js.publish("S", b"x", {"Nats-TTL": ttl})
    js.state("S")


RAISED: list[Headers] = [
    {"Nats-TTL": "1s"},
    {"A": "b", "Nats-TTL": "2", "C": "d"},
    {"Nats-TTL": "2999ms"},
    {"Nats-TTL": "3s"},
    {"Nats-TTL": "4"},
    {"Nats-TTL": "never"},
    {"Nats-TTL": "00"},
    b"NATS/1.0\r\nNats-TTL: 1\r\nA: b\r\nNats-TTL: 7\r\n\r\n",
    b"NATS/1.0\r\nNats-TTL: 7\r\nA: b\r\nNats-TTL: 1\r\n\r\n",
    b"NATS/1.0\r\nA: Nats-TTL: 1\r\nNats-TTL:1\r\nNats-TTLs: 1\r\n\r\n",
]


@STORAGES
@pytest.mark.parametrize("ttl", [3 * SECOND, 2 * SECOND + SECOND // 2])
@pytest.mark.parametrize("limit", [-1, 1, 5])
@scenario("PUB-035")
def test_a_short_ttl_is_raised(js: JetStream, storage: str, ttl: int, limit: int) -> None:
    js.create(
        "S", storage=storage, max_msgs_per_subject=limit, subject_delete_marker_ttl=ttl
    )  # fmt: skip
    for headers in RAISED:
        js.message("S", seq=js.publish("S", b"x", headers)["seq"])
    js.state("S")


@STORAGES
@scenario("PUB-029", "PUB-032", "STR-079")
def test_ttls_pass(js: JetStream, storage: str) -> None:
    """One wait for all of it: several streams, what is left in each, and who hears of it."""
    js.create("A", subjects=["a.*"], storage=storage, allow_msg_ttl=True)
    js.create(
        "B", subjects=["b.*"], storage=storage, allow_msg_ttl=True, max_age=SECOND, deny_delete=True,
        duplicate_window=SECOND,
    )  # fmt: skip
    js.create("C", subjects=["c.*"], storage=storage)
    js.update("C", subjects=["c.*"], storage=storage, allow_msg_ttl=True)
    js.create("D", subjects=["d.*"], storage=storage, allow_msg_ttl=True)
    js.create("E", subjects=["e.*"], storage=storage, allow_msg_ttl=True, retention="workqueue")
    for stream in "AE":
        consumers.add(js, stream, "c", ack_policy="explicit")
    for number, ttl in enumerate(["1s", "never", "2h", "1", "1999ms", "00"]):
        for stream in "abce":
            js.publish(f"{stream}.{number}", b"x", {"Nats-TTL": ttl})
        js.publish(f"b.plain{number}")
    js.publish("d.1", b"x", {"Nats-TTL": "1s"})
    js.update("D", subjects=["d.*"], storage=storage, allow_msg_ttl=True, sealed=True)
    assert js.publish_refused("d.1", b"x", {"Nats-TTL": "x"})["err_code"] == 10109
    js.settled("A", messages=3)
    js.settled("B", messages=1)
    js.settled("C", messages=3)
    js.settled("D", messages=0)
    js.settled("E", messages=3)
    for stream in "ABCDE":
        js.info(stream, subjects_filter=">", deleted_details=True)
    assert js.refused("STREAM.MSG.GET.A", {"seq": 1})["err_code"] == 10037
    for stream in "AE":
        assert consumers.info(js, stream, "c")["num_pending"] == 3
    assert js.publish("a.0")["seq"] == 7


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=lambda how: str(how.name))
@own_server("PUB-036")
def test_ttls_go_on_while_the_server_is_down(js: OwnServer, how: signal.Signals) -> None:
    js.create("A", subjects=["a.*"], allow_msg_ttl=True)
    js.create("B", subjects=["b.*"], allow_msg_ttl=True, max_age=SECOND, duplicate_window=SECOND)
    for number, ttl in enumerate(["1s", "never", "2h", "1", "1999ms", "00"]):
        js.publish(f"a.{number}", b"x", {"Nats-TTL": ttl})
        js.publish(f"b.{number}", b"x", {"Nats-TTL": ttl})
    js.restart(how)
    js.settled("A", messages=3)
    js.settled("B", messages=1)
    for stream in "AB":
        js.info(stream, subjects_filter=">", deleted_details=True)
    assert js.publish("a.0", b"x", {"Nats-TTL": "1"})["seq"] == 7
    js.settled("A", messages=3)
