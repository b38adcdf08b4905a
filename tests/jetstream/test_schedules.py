"""Messages that publish others when they are due. What has to be waited for is waited for together; times are
far where nothing is to happen."""

from __future__ import annotations

import base64
import itertools
import re
import signal
from datetime import UTC, datetime, timedelta
from functools import partial

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

FAR = "@at 2200-01-01T00:00:00Z"
SUBJECTS = ["s.>", "t.>"]

PATTERNS = (
    FAR, "@at 2200-01-01T00:00:00.5+01:00", "@at 0001-01-01T00:00:00Z", "@at  2200-01-01T00:00:00Z",
    "@at 2200-01-01T00:00:00Z ", "@at 2200-01-01", "@AT 2200-01-01T00:00:00Z", "@at", "@at ",
    "@at2200-01-01T00:00:00Z", "@every 1h", "@every 3600000ms", "@every 999ms", "@every 1h1ns", "@every -1h",
    "@every 0", "@every 10", "@every ", "@every", "@every  1h", "@every 1h ", "@Every 1h", "@every1h",
    "@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually", "@reboot", "@HOURLY",
    "@hourly ", "", " ", "* * * * *", "0 0 0 1 1 * *", "0 0 0 1 1 *", "0 0 0 30 2 *", "0 0 0 29 2 *",
    "0 0 0 31 2,4 *", "0 0 0 31 4 1", "0 0 0 31 4 */2", "0 0 0 31 4 */1", "0 0 0 31 4 *,1", "0 0 0 31 4 ?",
    "0 0 0 31 4 0-6", "0 0 0 */31 4 1", "0 0 0 31 4 *-5", "0 0 0 31 4 ,", "0 0 0 31 , *", "60 * * * * *",
    "59 59 23 31 12 *", "0 0 0 1 1 7", "0 0 0 1 1 0", "0 0 0 1 0 *", "0 0 0 0 1 *", "0 0 0 32 1 *",
    "0 0 24 1 1 *", "*/0 0 0 1 1 *", "*/100 0 0 1 1 *", "5/10 0 0 1 1 *", "5-1 0 0 1 1 *", "1-5/2 0 0 1 1 *",
    "1,,2 0 0 1 1 *", ",1 0 0 1 1 *", "0 0 0 1 jan *", "0 0 0 1 JAN-MAR ?", "0 0 0 1 January *",
    "0 0 0 31 12 sun", "0 0 0 31 12 SUN-tue", "0 0 0 31 12 FRI-MON", "0 0 0 31 12 monday", "0 0 0 L 1 *",
    "0 0 0 1 1 5#2", "0 0 0 15W 1 *", "-1 0 0 1 1 *", "+1 0 0 1 1 *", "1-2-3 0 0 1 1 *", "1/2/3 0 0 1 1 *",
    "?/5 0 0 1 1 *", "0  0 0 1 1 *", "\t0 0 0 1 1 *", "0 0 0 1 1\t*", "0 0 0 1 1 * ", "TZ=UTC 0 0 0 1 1 *",
    "00005 0 0 1 1 *", "0 0 0 1 1 1/7", "*/ 0 0 1 1 *", "/5 0 0 1 1 *", "1- 0 0 1 1 *", "*/-5 0 0 1 1 *",
    "1.5 0 0 1 1 *", "*/2-5 0 0 1 1 *", "99999999999999999999 0 0 1 1 *", "0 0 0 1 1/20 *", "0 0 0 1 jan/2 *",
    "0\x1c0 0 0 1 1 *", "0\u00a00 0 1 1 *", "@every 1000000h",
)  # fmt: skip


@scenario("PUB-090")
def test_what_a_schedule_may_be(js: JetStream) -> None:
    js.create("S", subjects=SUBJECTS, allow_msg_schedules=True)
    js.create("N")
    for pattern in PATTERNS:
        headers = {"Nats-Schedule": pattern, "Nats-Schedule-Target": "t.1"}
        answer = js.publish("s.1", b"x", headers)
        assert answer.get("error", {}).get("err_code") in (None, 10189)
        js.publish("N", b"x", headers)
    js.state("S", subjects_filter=">")


NAMES = {
    "pattern": "Nats-Schedule",
    "target": "Nats-Schedule-Target",
    "source": "Nats-Schedule-Source",
    "ttl": "Nats-Schedule-TTL",
    "rollup": "Nats-Schedule-Rollup",
    "zone": "Nats-Schedule-Time-Zone",
}
VALUES: dict[str, tuple[str, ...]] = {
    "target": (
        "", "x", "t.*", "t.>", "t..a", "s.x.y", "*", "t. a", "t", "t.é", " t.1", "t.1 ", "s.own", "s.other",
    ),
    "source": ("", "x", "s.other", "t.1", "s.*", "s.>", "s..x", "s.own", "t.1 "),
    "ttl": ("", "1s", "1", "0", "x", "never", "999ms", "-1"),
    "rollup": ("", "sub", "all", "SUB", "x"),
    "Nats-Rollup": ("", "sub", "all", "SUB", "x", "ALL"),
    "zone": (
        "", "UTC", "Europe/Berlin", "europe/berlin", "EST", "Etc/GMT+5", "x", "Europe/", "../etc/passwd",
        "/etc/localtime", "US/Eastern", "+01:00", "utc", "Etc", "Europe/Berlin ", " UTC", "local",
    ),
}  # fmt: skip


def schedule(pattern: str = FAR, target: str = "t.1", **more: str) -> dict[str, str]:
    given = {"pattern": pattern, "target": target, **more}
    return {NAMES.get(name, name.replace("_", "-")): value for name, value in given.items()}


@pytest.mark.parametrize("ttls", [True, False])
@pytest.mark.parametrize("pattern", [FAR, "@every 1h", "0 0 0 1 1 *", "@yearly"])
@pytest.mark.parametrize("field", sorted(VALUES))
@scenario("PUB-089", "PUB-091", "PUB-092", "PUB-093", "PUB-094")
def test_what_else_it_says(js: JetStream, field: str, pattern: str, ttls: bool) -> None:
    js.create("S", subjects=SUBJECTS, allow_msg_schedules=True, allow_msg_ttl=ttls)
    for value in VALUES[field]:
        js.publish("s.own", b"x", schedule(pattern, **{field: value}))
        js.publish("s.without", b"x", {NAMES.get(field, field): value})
    js.publish("s.own", b"x", {"Nats-Schedule": pattern})
    js.state("S", subjects_filter=">")
    js.subjects("S")


FAULTS = {
    "target": "x", "source": "*", "ttl": "x", "rollup": "x", "zone": "x", "pattern": "x",
    "Nats-Rollup": "all", "Nats-TTL": "x", "Nats-Expected-Last-Sequence": "9", "Nats-Expected-Stream": "q",
    "Nats-Incr": "1",    "Nats-Scheduler": "x", "Nats-Schedule-Next": "x", "Nats-Stream-Source": "x",
    "Nats-Expected-Last-Msg-Id": "x", "Nats-Batch-Id": "x",
}  # fmt: skip


@scenario("PUB-089", "PUB-090", "PUB-091", "PUB-092", "PUB-093", "PUB-094", "PUB-095")
def test_which_fault_is_named(js: JetStream) -> None:
    js.create("S", subjects=SUBJECTS, allow_msg_schedules=True, allow_msg_ttl=True)
    js.create("T", subjects=["u.>"], allow_msg_schedules=True)
    for one, other in itertools.combinations(FAULTS, 2):
        faults = {one: FAULTS[one], other: FAULTS[other]}
        headers = schedule(**{"pattern": "@yearly", **faults})
        js.publish_refused("s.1", b"x", headers)
    for fault in FAULTS:
        fields = {"pattern": "@yearly", "target": "u.1", "ttl": "1s", fault: FAULTS[fault]}
        headers = schedule(**fields)
        js.publish_refused("u.2", b"x", headers)


@scenario("PUB-097")
def test_where_there_are_none(js: JetStream) -> None:
    js.create("N", subjects=["n.>"])
    for name, value in itertools.product(NAMES.values(), ["", "x", "UTC", "sub", "1s"]):
        js.publish("n.1", b"x", {name: value})
        js.publish("n.1", b"x", {"Nats-Schedule": FAR, name: value})
    for scheduler, following in itertools.product(
        ["", "n.1", "n.2", "n.*", "x"], ["", "purge", "x"]
    ):
        js.publish("n.1", b"x", {"Nats-Scheduler": scheduler, "Nats-Schedule-Next": following})


REPLACED: list[Headers] = [
    schedule(),
    schedule(Nats_Rollup="sub", Foo="1"),
    schedule(Nats_Rollup="SUB"),
    schedule(Nats_Rollup=""),
    schedule(Nats_Msg_Id="a"),
    schedule(Nats_Msg_Id="a"),
    b"NATS/1.0 404 x\r\nNats-Schedule: @hourly\r\nNats-Schedule-Target: t.1\r\nFoo\r\n\r\n",
]


@STORAGES
@scenario("PUB-088")
def test_a_subject_has_one(js: JetStream, storage: str) -> None:
    js.create("S", subjects=SUBJECTS, allow_msg_schedules=True, storage=storage)
    js.publish("s.1", b"plain")
    for headers in REPLACED:
        js.publish("s.1", b"x", headers)
        js.message("S", last_by_subj="s.1")
        js.subjects("S")


@scenario("PUB-095", "PUB-096")
def test_a_publish_ends_a_schedule(js: JetStream) -> None:
    js.create("S", subjects=SUBJECTS, allow_msg_schedules=True)
    js.publish("s.plain")
    for scheduler, following in itertools.product(
        ["", "s.1", "s.2", "s.plain", "s.none", "s.*", "t.9", "x", "s. 1"],
        ["", "purge", "Purge", "2200-01-01T00:00:00Z"],
    ):
        js.publish("s.1", b"x", schedule())
        js.publish("s.2", b"before")
        js.publish("s.2", b"x", schedule(Nats_Rollup=""))
        js.publish("t.9", b"x", {"Nats-Scheduler": scheduler, "Nats-Schedule-Next": following})
        js.subjects("S")


# -- when they are due -----------------------------------------------------------------------------


def soon(seconds: float = 0.0) -> str:
    """Late already, or in a while."""
    moment = datetime.now(UTC) + timedelta(seconds=seconds)
    return f"@at {moment:%Y-%m-%dT%H:%M:%S.%f}Z"


NEXT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")


def described(message: Json) -> tuple[str, str, str]:
    """A message without its time."""
    headers = base64.b64decode(message.get("hdrs", "")).decode()
    data = base64.b64decode(message.get("data", "")).decode()
    return message["subject"], NEXT.sub(r"<time>\2\3", headers), data


def fired(js: JetStream, stream: str, *subjects: str) -> None:
    """Wait until there is a message on each subject; they become part of the story."""
    for subject in subjects:
        ask = partial(js.ask, f"STREAM.MSG.GET.{stream}", {"last_by_subj": subject})
        js.until(lambda ask=ask: "message" in ask())  # type: ignore[misc]
        js.note(described(ask()["message"]))


SCHEDULED: dict[str, dict[str, str]] = {
    "past": schedule("@at 2020-01-01T00:00:00Z", "t.past"),
    "once": schedule(
        "@at 2020-01-01T00:00:00Z", "t.once", Foo="bar", Nats_Msg_Id="i1", Nats_TTL="1h",
        Nats_Expected_Stream="S", ttl="5m", rollup="sub", Zed="z",
    ),
    "every": schedule("@every 1s", "t.every", Foo="b", ttl="1h"),
    "half": schedule("@every 1.5s", "t.half"),
    "cron": schedule("* * * * * *", "t.cron", rollup="sub"),
    "zone": schedule("* * * * * *", "t.zone", zone="Asia/Kolkata"),
    "london": schedule("* * * * * *", "t.london", zone="Etc/GMT"),
    "sample": schedule("@every 1s", "t.sample", source="s.src", Own="o"),
    "bare": schedule("@every 1s", "t.bare", source="s.plain", Own="o"),
    "none": schedule("@every 1s", "t.none", source="s.nothing", Own="o"),
    "chain": schedule("@at 2020-01-01T00:00:00Z", "s.far2", Own="o"),
}  # fmt: skip
ODD = (
    b"NATS/1.0\r\nNats-Schedule: @at 2020-01-01T00:00:00Z\r\nNats-Schedule-Target: t.odd\r\nA: 1\r\nA: 2\r\n"
    b"X:y\r\nbad\r\nNats-Rollup: sub\r\nnats-ttl: 3\r\nB:   spaced \r\nNats-Schedule-Foo: 1\r\n\r\n"
)


@STORAGES
@scenario(
    "PUB-081", "PUB-082", "PUB-083", "PUB-084", "PUB-085", "PUB-086", "PUB-087", "PUB-088"
)  # fmt: skip
def test_what_they_publish(js: JetStream, storage: str) -> None:
    js.create("S", subjects=SUBJECTS, storage=storage, allow_msg_schedules=True, allow_msg_ttl=True)
    js.listen("t.>")
    source = {"A": "src", "Nats-Msg-Id": "x", "Nats-TTL": "1h", "Nats-Schedule-Foo": "1"}
    js.publish("s.src", b"sampled", source)
    js.publish("s.plain", b"bare")
    js.publish("s.far2", b"x", schedule())
    for name, headers in SCHEDULED.items():
        js.publish(f"s.{name}", b"own", headers)
    js.publish("s.odd", b"", ODD)
    fired(js, "S", *(f"t.{name}" for name in SCHEDULED if name != "chain"), "t.odd", "s.far2")
    once = ("s.past", "s.once", "s.chain", "s.odd")
    assert (
        not {*once}
        & js.ask("STREAM.INFO.S", {"subjects_filter": "s.>"})["state"]["subjects"].keys()
    )
    js.heard_nothing()


@scenario("PUB-081")
def test_schedules_and_streams(js: JetStream) -> None:
    """Kept where nothing may be deleted, where nobody is interested, by another name, sealed."""
    transform = {"src": "x.*.*", "dest": "x.$2.$1"}
    js.create("D", subjects=["d.>"], allow_msg_schedules=True, deny_delete=True)
    js.create("I", subjects=["i.>"], allow_msg_schedules=True, retention="interest")
    js.create("W", subjects=["w.>"], allow_msg_schedules=True, retention="workqueue")
    js.create(
        "X", subjects=["x.>"], allow_msg_schedules=True, subject_transform=transform,
        republish={"src": ">", "dest": "copy.>"},
    )  # fmt: skip
    js.create("O", subjects=["o.>", "other"], allow_msg_schedules=True)
    js.create("Z", subjects=["z.>"], allow_msg_schedules=True)
    consumers.add(js, "I", "c", ack_policy="explicit", filter_subject="i.a.>")
    at = soon(1)
    for subject, target in [
        ("d.1", "d.t"), ("i.a.1", "i.a.t"), ("i.b.1", "i.a.t2"), ("i.a.2", "i.b.t"), ("w.1", "w.t"),
        ("x.a.1", "x.t.1"), ("o.1", "other"), ("z.1", "z.t"),
    ]:  # fmt: skip
        js.request(subject, b"own", schedule(at, target))
    js.update("Z", subjects=["z.>"], allow_msg_schedules=True, allow_rollup_hdrs=True, sealed=True)
    js.update("O", subjects=["o.>"], allow_msg_schedules=True)
    js.listen("copy.>")
    fired(js, "D", "d.t")
    fired(js, "W", "w.t")
    fired(js, "X", "x.1.t")
    fired(js, "O", "other")
    fired(js, "I", "i.a.t")
    js.heard(1)
    for stream in "IDWXOZ":
        js.subjects(stream)
    assert js.settled("I", last_seq=5)["messages"] == 1


@scenario("PUB-096", "PUB-088")
def test_what_ends_them(js: JetStream) -> None:
    js.create("S", subjects=SUBJECTS, allow_msg_schedules=True, allow_msg_ttl=True)
    at = soon(1)
    for name in ("plain", "purged", "deleted", "ended", "again", "kept", "back"):
        js.request(f"s.{name}", b"own", schedule(at, f"t.{name}"))
    js.publish("s.plain", b"now")
    js.ok("STREAM.PURGE.S", {"filter": "s.purged"})
    js.ok("STREAM.MSG.DELETE.S", {"seq": 3})
    js.publish("t.x", b"", {"Nats-Scheduler": "s.ended", "Nats-Schedule-Next": "purge"})
    js.publish("s.again", b"own", schedule())
    newer = js.publish("s.back", b"x")["seq"]
    js.ok("STREAM.MSG.DELETE.S", {"seq": newer})  # what it replaced does not come back
    fired(js, "S", "t.kept")
    js.subjects("S")


@scenario("PUB-087", "PUB-081")
def test_ttls_of_both(js: JetStream) -> None:
    js.create("S", subjects=SUBJECTS, allow_msg_schedules=True, subject_delete_marker_ttl=SECOND)
    js.publish("s.short", b"own", schedule("@every 5s", "t.short", Nats_TTL="1s"))
    js.publish("s.once", b"own", schedule("@at 2020-01-01T00:00:00Z", "t.once", ttl="1s"))
    fired(js, "S", "t.once")
    js.settled("S", messages=0)


@pytest.mark.parametrize("size", [95, 96, 100, 105, 110, 113, 114, 115, 120])
@scenario("PUB-088")
def test_sizes(js: JetStream, size: int) -> None:
    js.create("S", subjects=SUBJECTS, allow_msg_schedules=True, max_msg_size=size)
    js.publish("s.1", b"0123456789", schedule())
    js.state("S")


@own_server("PUB-098")
def test_schedules_go_on_while_the_server_is_down(js: OwnServer) -> None:
    """nats-server forgets the times after a SIGKILL; jetstream-py does not, see the tests of the engine."""
    js.create("S", subjects=SUBJECTS, allow_msg_schedules=True)
    js.publish("s.every", b"own", schedule("@every 2s", "t.every"))
    js.publish("s.far", b"own", schedule())
    js.request("s.once", b"own", schedule(soon(1), "t.once"))
    js.publish("s.over", b"own", schedule("@every 2s", "t.over"))
    js.publish("s.over", b"plain")
    js.restart(signal.SIGTERM)
    fired(js, "S", "t.every", "t.once")
    js.subjects("S", "s.>")
    js.subjects("S", "t.over")
