"""What is checked when an atomic batch is committed: all of it passes, or nothing is stored."""

from __future__ import annotations

from itertools import combinations

import pytest

from tests.jetstream.batches import ABANDONED, advisories, part, send
from tests.jetstream.support import STORAGES, JetStream, scenario

SEQ = "Nats_Expected_Last_Sequence"
OWN = "Nats_Expected_Last_Subject_Sequence"
OTHER = "Nats_Expected_Last_Subject_Sequence_Subject"
ROLLUP = "Nats_Rollup"
ID = "Nats_Msg_Id"

Batch = list[tuple[str, dict[str, str]]]

# The stream has two messages: s.a and, with the id `q`, s.b.
EXPECTATIONS: list[Batch] = [
    [("s.a", {SEQ: "2"}), ("s.a", {})],
    [("s.a", {SEQ: "1"}), ("s.a", {})],
    [("s.a", {}), ("s.a", {SEQ: "3"})],
    [("s.a", {}), ("s.a", {SEQ: "2"})],
    [("s.a", {SEQ: "2"}), ("s.a", {SEQ: "3"})],
    [("s.b", {OWN: "2"}), ("s.a", {OWN: "1"})],
    [("s.b", {OWN: "9"}), ("s.a", {})],
    [("s.a", {}), ("s.c", {OWN: "0"})],
    [("s.c", {}), ("s.c", {OWN: "3"})],
    [("s.c", {OWN: "0"}), ("s.c", {OWN: "0"})],
    [("s.c", {OWN: "0"}), ("s.c", {OWN: "3"})],
    [("s.c", {}), ("s.d", {OWN: "2", OTHER: "s.b"})],
    [("s.c", {}), ("s.d", {OWN: "1", OTHER: "s.b"})],
    [("s.c", {}), ("s.d", {OWN: "2", OTHER: "s.>"})],
    [("s.c", {}), ("s.d", {OWN: "3", OTHER: "s.>"})],
    [("s.c", {}), ("s.d", {OWN: "3", OTHER: "s.c"})],
    [("s.c", {OWN: "0", OTHER: "s.x"}), ("s.x", {})],
    [("s.c", {OWN: "0", OTHER: "s.x"}), ("s.d", {OWN: "0", OTHER: "s.x"})],
    [("s.c", {OWN: "0", OTHER: "s.x"}), ("s.d", {OWN: "1", OTHER: "s.x"})],
    [("s.c", {OWN: "x"})],
    [("s.c", {SEQ: "x"})],
    [("s.c", {}), ("s.d", {OTHER: "s.x"})],
    [("s.c", {}), ("s.d", {"Nats_Expected_Stream": "S"})],
    [("s.c", {}), ("s.d", {"Nats_Expected_Stream": "Q"})],
    [("s.c", {"Nats_Expected_Last_Msg_Id": "q"}), ("s.d", {})],
    [("s.c", {ROLLUP: "foo"}), ("s.d", {"Nats_Expected_Last_Msg_Id": "q"})],
    [("s.c", {"Nats_Expected_Stream": "Q"}), ("s.d", {ROLLUP: "foo"})],
]
IDS: list[Batch] = [
    [("s.a", {ID: "1"}), ("s.a", {ID: "1"})],
    [("s.a", {ID: "1"}), ("s.a", {ID: "q"})],
    [("s.a", {ID: "1"}), ("s.b", {ID: "2"})],
]
ROLLUPS: list[Batch] = [
    [("s.a", {ROLLUP: "sub"}), ("s.a", {})],
    [("s.a", {}), ("s.a", {ROLLUP: "sub"})],
    [("s.a", {}), ("s.b", {ROLLUP: "SUB"})],
    [("s.a", {}), ("s.b", {ROLLUP: "all"})],
    [("s.a", {ROLLUP: "all"}), ("s.b", {})],
    [("s.a", {}), ("s.b", {ROLLUP: "foo"})],
]
OTHERS: list[Batch] = [
    [("s.a", {}), ("s.b", {"Nats_TTL": "foo"})],
    [("s.a", {"Nats_TTL": "1h"}), ("s.b", {"Nats_TTL": "never"})],
    [("s.a", {}), ("s.b", {"Nats_Incr": "1"})],
    [("s.a", {}), ("s.b", {"Nats_Schedule": "@every 1s"})],
    [("s.a", {}), ("s.b", {"Nats_Stream_Source": "O 1 > > P"})],
]


def names(batch: Batch) -> str:
    return " ".join(f"{subject}{list(headers.values())}" for subject, headers in batch)


@pytest.mark.parametrize("batch", EXPECTATIONS + IDS + ROLLUPS + OTHERS, ids=names)
@scenario("PUB-056", "PUB-059", "PUB-060", "PUB-068")
def test_checks(js: JetStream, batch: Batch) -> None:
    js.listen(ABANDONED)
    js.create("S", subjects=["s.>"], allow_atomic=True, allow_rollup_hdrs=True, allow_msg_ttl=True)
    js.publish("s.a")
    js.publish("s.b", b"", {"Nats-Msg-Id": "q"})
    send(js, *batch)
    js.state("S", subjects_filter=">", deleted_details=True)
    assert advisories(js) == []
    assert js.publish_refused("s.a", b"", part("b", 3))["err_code"] == 10176


SINGLE: list[dict[str, str]] = [
    {"Nats_Expected_Last_Msg_Id": "x"},
    {"Nats_Incr": "1"},
    {"Nats_Expected_Stream": "Q"},
    {"Nats_TTL": "1s"},
    {"Nats_TTL": "foo"},
    {ID: "q"},
    {"Nats_Stream_Source": "O 1 > > P"},
    {SEQ: "99"},
    {OWN: "98"},
    {OTHER: "s.b"},
    {"Nats_Schedule": "@every 1s"},
    {ROLLUP: "foo"},
]


@scenario("PUB-056", "PUB-059", "PUB-060", "PUB-068")
def test_order_of_the_checks(js: JetStream) -> None:
    js.create("S", subjects=["s.>"], allow_atomic=True)
    js.publish("s.a")
    js.publish("s.b", b"", {"Nats-Msg-Id": "q"})
    for first, second in combinations(SINGLE, 2):
        js.publish_refused("s.a", b"", part("b", 1, "1", **{**first, **second}))
    assert js.state("S")["messages"] == 2


@scenario("PUB-068")
def test_checked_at_the_commit(js: JetStream) -> None:
    js.create("S", subjects=["s.>"], allow_atomic=True)
    js.request("s.a", b"", part("b", 1, **{OWN: "0", OTHER: "s.z"}))
    js.publish("s.z")
    js.publish_refused("s.a", b"", part("b", 2, "1"))
    js.request("s.a", b"", part("b", 1, **{ID: "z"}))
    js.publish("s.z", b"", {"Nats-Msg-Id": "z"})
    js.publish_refused("s.a", b"", part("b", 2, "1"))
    js.request("s.a", b"", part("b", 1, **{SEQ: "3"}))
    js.publish("s.z")
    js.publish("s.a", b"", part("b", 2, "1"))


LIMITS: list[dict[str, object]] = [
    {"max_msgs": 2},
    {"max_bytes": 200},
    {"max_msgs_per_subject": 1},
    {"max_msgs_per_subject": 2},
    {"max_msgs": 2, "discard": "new"},
    {"max_bytes": 200, "discard": "new"},
    {"max_msgs_per_subject": 1, "discard": "new", "discard_new_per_subject": True},
    {"max_msgs_per_subject": 2, "max_msgs": 3, "discard": "new", "discard_new_per_subject": True},
    {"max_msgs_per_subject": 2, "max_msgs": 3, "discard": "new"},
]


@STORAGES
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@scenario("PUB-021", "PUB-022", "PUB-023", "PUB-024", "PUB-025", "PUB-068")
def test_limits(js: JetStream, storage: str, limits: dict[str, object]) -> None:
    config = {"subjects": ["s.>"], "allow_atomic": True, "allow_rollup_hdrs": True}
    js.create("S", storage=storage, **config, **limits)
    js.publish("s.a", b"x")
    batches: list[Batch] = [
        [("s.a", {}), ("s.a", {})],
        [("s.b", {}), ("s.a", {}), ("s.c", {})],
        [("s.a", {})],
        [("s.a", {ROLLUP: "sub"})],
        [("s.a", {ROLLUP: "all"}), ("s.b", {})],
        [("s.d", {}), ("s.d", {"Nats_Expected_Stream": "Q"})],
    ]
    for batch in batches:
        send(js, *batch)
        js.state("S", subjects_filter=">", deleted_details=True)


COUNTS: list[Batch] = [
    [("s.a", {"Nats_Incr": "1"}), ("s.a", {"Nats_Incr": "2"}), ("s.b", {"Nats_Incr": "-5"})],
    [("s.a", {"Nats_Incr": "1"}), ("s.a", {})],
    [("s.a", {"Nats_Incr": "1"}), ("s.a", {"Nats_Incr": "x"})],
    [("s.a", {"Nats_Incr": "1"}), ("s.a", {"Nats_Incr": "1", SEQ: "1"})],
    [("s.a", {"Nats_Incr": "1"}), ("s.a", {"Nats_Incr": "1", ROLLUP: "sub"})],
    [("s.a", {"Nats_Incr": "1", ID: "1"}), ("s.a", {ID: "1"})],
    [("s.a", {"Nats_Stream_Source": "O 1 > > P"})],
]


@pytest.mark.parametrize("batch", COUNTS, ids=names)
@scenario("PUB-037", "PUB-039", "PUB-041", "PUB-042", "PUB-068")
def test_counters(js: JetStream, batch: Batch) -> None:
    js.create("S", subjects=["s.>"], allow_atomic=True, allow_msg_counter=True)
    js.publish("s.a", b"", {"Nats-Incr": "10"})
    for seq, (subject, others) in enumerate(batch, 1):
        js.request(subject, b"", part("b", seq, "1" if seq == len(batch) else None, **others))
    for subject in ("s.a", "s.b"):
        js.api("STREAM.MSG.GET.S", {"last_by_subj": subject})
    js.state("S")


AT = {"Nats_Schedule": "@at 2099-01-01T00:00:00Z", "Nats_Schedule_Target": "s.t"}
END_OF = {"Nats_Schedule_Next": "purge"}
SCHEDULES: list[Batch] = [
    [("s.a", AT), ("s.b", AT)],
    [("s.a", {}), ("s.a", AT)],
    [("s.a", AT), ("s.a", AT)],
    [("s.a", AT), ("s.a", {})],
    [("s.a", {}), ("s.x", {**END_OF, "Nats_Scheduler": "s.s"})],
    [("s.a", AT), ("s.x", {**END_OF, "Nats_Scheduler": "s.a"})],
    [("s.a", {}), ("s.x", {**END_OF, "Nats_Scheduler": "s.a"})],
    [("s.p", AT), ("s.x", {**END_OF, "Nats_Scheduler": "s.p"})],
    [("s.s", {}), ("s.x", {**END_OF, "Nats_Scheduler": "s.s"})],
    [("s.a", {}), ("s.x", {**END_OF, "Nats_Scheduler": "s.x"})],
    [("s.a", {}), ("s.b", {**AT, "Nats_Schedule": "@every 1ms"})],
    [("s.a", {}), ("s.b", {**AT, "Nats_Schedule_Target": "other"})],
    [("s.a", {}), ("s.b", {**AT, ROLLUP: "all"})],
    [("s.a", {}), ("s.b", {**AT, ROLLUP: "sub"})],
]


@pytest.mark.parametrize("batch", SCHEDULES, ids=names)
@scenario("PUB-088", "PUB-089", "PUB-090", "PUB-093", "PUB-095", "PUB-096", "PUB-068")
def test_schedules(js: JetStream, batch: Batch) -> None:
    """The stream has a schedule on s.s, and a plain message on s.p."""
    js.create("S", subjects=["s.>"], allow_atomic=True, allow_msg_schedules=True)
    js.publish("s.s", b"", {name.replace("_", "-"): value for name, value in AT.items()})
    js.publish("s.p")
    send(js, *batch)
    js.state("S", subjects_filter=">", deleted_details=True)
    for subject, _ in batch:
        js.api("STREAM.MSG.GET.S", {"last_by_subj": subject})
