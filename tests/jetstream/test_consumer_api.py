"""The consumer API as a whole: subjects, counts, advisories, and the verbs for one consumer."""

from __future__ import annotations

import pytest

from tests.jetstream.consumers import EXPLICIT, PUSH, add, body, info, names
from tests.jetstream.support import API, ZERO_TIME, JetStream, Json, scenario

EVENT = "$JS.EVENT.ADVISORY."
GROUPS: Json = {**EXPLICIT, "priority_policy": "pinned_client", "priority_groups": ["g", "h"]}


@pytest.mark.parametrize(
    "verb",
    [
        "CREATE",
        "DURABLE.CREATE",
        "DURABLE.CREATE.S",
        "DURABLE.CREATE.S.C.x",
        "INFO.S",
        "INFO.S.C.x",
        "NAMES",
        "NAMES.S.x",
        "LIST",
        "LIST.S.x",
        "DELETE.S",
        "DELETE.S.C.x",
        "PAUSE.S",
        "UNPIN.S",
        "RESET.S",
        "LEADER.STEPDOWN.S",
        "NOPE.S.C",
    ],
)
@scenario()
def test_subjects_that_nobody_answers(js: JetStream, verb: str) -> None:
    js.create("S", subjects=["s.>"])
    add(js, "S", "C")
    js.silent(f"{API}CONSUMER.{verb}")


@scenario("CON-067", "CON-068", "CON-069")
def test_info_and_delete(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    add(js, "S", "C")
    for verb in ("INFO", "DELETE"):
        error = js.refused(f"CONSUMER.{verb}.S.D")
        assert error == {"code": 404, "err_code": 10014, "description": "consumer not found"}
        assert js.refused(f"CONSUMER.{verb}.T.C")["err_code"] == 10059
        for text in (b"x", b'{"a":1}', b"[]", b"null"):
            error = js.refused(f"CONSUMER.{verb}.T.C", text)
            assert error["description"] == "expected an empty request payload"
            assert error["err_code"] == 10038
    js.ok("CONSUMER.INFO.S.C", b"{}")
    assert js.ok("CONSUMER.DELETE.S.C", b" {} ")["success"] is True
    assert js.refused("CONSUMER.DELETE.S.C")["err_code"] == 10014
    assert names(js, "S") == []


@scenario()
def test_stepdown_needs_a_cluster(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    add(js, "S", "C")
    for path in ("S.C", "S.D", "T.C"):
        assert js.refused(f"CONSUMER.LEADER.STEPDOWN.{path}", b"junk")["err_code"] == 10010


@scenario()
def test_counts(js: JetStream) -> None:
    """Account information counts consumers and requests; a reset is none of them."""
    before = js.ask("INFO")["api"]
    js.create("S", subjects=["s.>"])
    add(js, "S", "C", **EXPLICIT)
    add(js, "S", "D")
    js.refused("CONSUMER.INFO.S.E")
    js.ok("CONSUMER.NAMES.S")
    js.ok("CONSUMER.RESET.S.C")
    js.refused("CONSUMER.RESET.S.C", b"x")
    after = js.ask("INFO")
    assert after["consumers"] == 2
    # The stream, two consumers, one that is not there, their names, and the first question.
    assert after["api"]["total"] - before["total"] == 6
    assert after["api"]["errors"] - before["errors"] == 1
    assert js.state("S")["consumer_count"] == 2


@scenario("DLV-017")
def test_advisories(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    js.listen(f"{EVENT}CONSUMER.>")
    add(js, "S", "C")
    (created,) = js.heard(1)
    assert created.subject == f"{EVENT}CONSUMER.CREATED.S.C"
    assert list(created.json) == ["type", "id", "timestamp", "stream", "consumer", "action"]
    add(js, "S", "C", description="an update is not worth a word")
    js.ok("CONSUMER.DELETE.S.C")
    (deleted,) = js.heard(1)
    assert deleted.json["action"] == "delete"
    add(js, "S", "D", **PUSH)
    js.delete("S")
    assert [message.json["action"] for message in js.heard(2)] == ["create", "delete"]
    js.heard_nothing()


@scenario("DLV-038")
def test_audit(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    js.listen(f"{EVENT}API")
    add(js, "S", "C")
    (audit,) = js.heard(1)
    assert audit.json["subject"] == f"{API}CONSUMER.CREATE.S.C"
    assert '"name":"C"' in audit.json["response"]
    js.refused("CONSUMER.INFO.S.D")
    js.heard(1)
    js.ok("CONSUMER.RESET.S.C")
    js.ok("CONSUMER.DELETE.S.C")
    (audit,) = js.heard(1)
    assert audit.json["subject"] == f"{API}CONSUMER.DELETE.S.C"


@scenario("PULL-046", "PULL-048", "PULL-049", "DLV-021")
def test_pause(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    add(js, "S", "C", durable_name="C")
    js.listen(f"{EVENT}CONSUMER.PAUSE.>")
    for sent, until, paused in (
        ("2034-01-01T00:00:00+02:00", "2033-12-31T22:00:00Z", True),
        ("2014-01-01T00:00:00+02:00", "2013-12-31T22:00:00Z", False),
        (None, ZERO_TIME, False),
        ("2034-01-01T00:00:00.5Z", "2034-01-01T00:00:00.5Z", True),
        (ZERO_TIME, ZERO_TIME, False),
        ("2014-01-01T00:00:00Z", "2014-01-01T00:00:00Z", False),
    ):
        answer = js.ok("CONSUMER.PAUSE.S.C", {"pause_until": sent})
        assert (answer["pause_until"], answer["paused"]) == (until, paused)
        assert ("pause_remaining" in answer) is paused
        (advisory,) = js.heard(1)
        assert (advisory.json["pause_until"], advisory.json["paused"]) == (until, paused)
        now = info(js, "S", "C")
        assert now.get("paused", False) is paused
        assert now["config"].get("pause_until", ZERO_TIME) == until
        assert now["config"]["metadata"]["_nats.req.level"] == ("0" if until == ZERO_TIME else "1")
    assert js.refused("CONSUMER.PAUSE.S.D")["err_code"] == 10014
    assert js.refused("CONSUMER.PAUSE.T.C")["err_code"] == 10059


@scenario("DLV-021")
def test_a_pause_that_changes_nothing_is_not_announced(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    add(js, "S", "C", durable_name="C")
    js.listen(f"{EVENT}CONSUMER.PAUSE.>")
    for request in (b"", b"{}", b"text", b"null"):
        js.ok("CONSUMER.PAUSE.S.C", request)
    js.heard_nothing()
    for _ in range(2):
        js.ok("CONSUMER.PAUSE.S.C", {"pause_until": "2034-01-01T00:00:00Z"})
    js.heard(1)
    js.heard_nothing()


@pytest.mark.parametrize(
    "text", ['{"pause_until":"x"}', '{"pause_until":3}', "[1]", "{", '{"x":1}']
)
@scenario()
def test_pause_bodies(js: JetStream, text: str) -> None:
    js.create("S", subjects=["s.>"])
    add(js, "S", "C")
    answer = js.api("CONSUMER.PAUSE.S.C", text.encode())
    assert answer["error"]["err_code"] == 10025
    assert (answer["paused"], answer["pause_until"]) == (False, ZERO_TIME)


@scenario()
def test_pause_for_ever(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    add(js, "S", "C", durable_name="C")
    error = js.refused("CONSUMER.PAUSE.S.C", {"pause_until": "9999-12-31T23:59:59-02:00"})
    assert error["err_code"] == 10104
    answer = js.ok("CONSUMER.PAUSE.S.C", {"pause_until": "9999-12-31T23:59:59Z"})
    assert answer["pause_remaining"] == 2**63 - 1
    assert info(js, "S", "C")["paused"] is True


@scenario("DLV-021")
def test_paused_by_its_configuration(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    js.listen(f"{EVENT}CONSUMER.PAUSE.>")
    add(js, "S", "C", pause_until="2034-01-01T00:00:00+02:00")
    (advisory,) = js.heard(1)
    assert advisory.json["pause_until"] == "2034-01-01T00:00:00+02:00"
    assert info(js, "S", "C")["config"]["pause_until"] == "2034-01-01T00:00:00+02:00"
    assert add(js, "S", "C")["config"]["pause_until"] == "2033-12-31T22:00:00Z"
    js.heard(1)
    add(js, "S", "D", pause_until="2014-01-01T00:00:00Z")
    js.heard_nothing()


@scenario("PULL-040", "PULL-041", "PULL-042", "DLV-022")
def test_unpin(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    add(js, "S", "C", **GROUPS)
    add(js, "S", "D")
    js.listen(f"{EVENT}CONSUMER.UNPINNED.>")
    for group in ("g", "h"):
        assert list(js.ok("CONSUMER.UNPIN.S.C", {"group": group, "x": 1})) == ["type"]
        (advisory,) = js.heard(1)
        assert (advisory.json["group"], advisory.json["reason"]) == (group, "admin")
    (state,) = info(js, "S", "C")["priority_groups"]
    assert state == {"group": "g", "pinned_ts": ZERO_TIME}
    for path, group, code in (
        ("S.C", "z", 10160),
        ("S.D", "g", 10160),
        ("S.E", "g", 10014),
        ("T.C", "g", 10059),
        ("T.C", "a b", 10162),
        ("T.C", "", 10025),
    ):
        assert js.refused(f"CONSUMER.UNPIN.{path}", {"group": group})["err_code"] == code
    for text in (b"", b"x", b"[1]", b'{"group":1}', b"{}", b"null", b"{} {}"):
        assert js.refused("CONSUMER.UNPIN.T.C", text)["err_code"] == 10025
    js.heard_nothing()


# The deliver policy, a sequence, why it is refused.
RESETS: list[tuple[Json, int, str]] = [
    ({}, 3, ""),
    ({}, 100, ""),
    ({}, 0, ""),
    ({"deliver_policy": "new"}, 0, ""),
    ({"deliver_policy": "new"}, 3, "not allowed"),
    ({"deliver_policy": "last"}, 3, "not allowed"),
    ({"deliver_policy": "last_per_subject", "filter_subject": "s.>"}, 3, "not allowed"),
    ({"deliver_policy": "by_start_sequence", "opt_start_seq": 3}, 2, "below start seq"),
    ({"deliver_policy": "by_start_sequence", "opt_start_seq": 3}, 3, ""),
    (
        {"deliver_policy": "by_start_time", "opt_start_time": "2034-01-01T00:00:00Z"},
        5,
        "below start time",
    ),
    ({"deliver_policy": "by_start_time", "opt_start_time": "2034-01-01T00:00:00Z"}, 6, ""),
    ({"deliver_policy": "by_start_time", "opt_start_time": "2014-01-01T00:00:00Z"}, 1, ""),
]


@pytest.mark.parametrize(("config", "seq", "refusal"), RESETS)
@scenario("PULL-050", "PULL-051", "PULL-052")
def test_reset(js: JetStream, config: Json, seq: int, refusal: str) -> None:
    js.create("S", subjects=["s.>"])
    js.publish_all("s.1", "s.2", "s.3", "s.4", "s.5")
    floor = add(js, "S", "C", {**EXPLICIT, **config})["ack_floor"]["stream_seq"]
    answer = js.api("CONSUMER.RESET.S.C", {"seq": seq} if seq else None)
    if refusal:
        assert answer["error"]["description"] == f"invalid reset: {refusal}"
        assert (answer["error"]["err_code"], answer["reset_seq"]) == (10204, 0)
    else:
        assert answer["reset_seq"] == (seq or floor + 1)
        assert answer["ack_floor"] == {"consumer_seq": 0, "stream_seq": answer["reset_seq"] - 1}


@scenario("PULL-053")
def test_reset_of_nobody_is_not_answered(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    for path in ("S.C", "T.C"):
        js.silent(f"{API}CONSUMER.RESET.{path}")
        js.silent(f"{API}CONSUMER.RESET.{path}", b"x", {"Nats-Required-Api-Level": "99"})


@pytest.mark.parametrize("text", ["x", "[1]", " ", "{", '{"seq":"1"}', '{"seq":-1}', '{"seq":1}x'])
@scenario()
def test_reset_bodies(js: JetStream, text: str) -> None:
    js.create("S", subjects=["s.>"])
    add(js, "S", "C")
    assert js.refused("CONSUMER.RESET.S.C", text.encode())["err_code"] == 10025
    js.ok("CONSUMER.RESET.S.C", b'{"unknown":1}')


@pytest.mark.parametrize(
    "verb",
    [
        "CREATE.S.D",
        "INFO.S.C",
        "NAMES.S",
        "LIST.S",
        "DELETE.S.C",
        "PAUSE.S.C",
        "UNPIN.S.C",
        "RESET.S.C",
    ],
)
@scenario()
def test_required_level(js: JetStream, verb: str) -> None:
    js.create("S", subjects=["s.>"])
    add(js, "S", "C")
    request = body("S", {}) if "CREATE" in verb else None
    error = js.refused(f"CONSUMER.{verb}", request, {"Nats-Required-Api-Level": "99"})
    assert (error["code"], error["err_code"]) == (412, 10185)
    assert names(js, "S") == ["C"]
