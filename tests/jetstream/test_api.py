"""How the API is spoken to: what is answered, what is not, and by whom it may be asked."""

from __future__ import annotations

import pytest

from tests.jetstream.support import API, JetStream, own_server, scenario

LEVEL = "Nats-Required-Api-Level"
SILENT = [
    "NOPE", "STREAM", "STREAM.NOPE", "STREAM.CREATE", "STREAM.CREATE.a.b", "STREAM.UPDATE",
    "STREAM.UPDATE.a.b", "STREAM.INFO", "STREAM.INFO.a.b", "STREAM.DELETE", "STREAM.DELETE.a.b",
    "STREAM.NAMES.a", "STREAM.LIST.a", "STREAM.PURGE", "STREAM.MSG.GET", "STREAM.MSG.NOPE.S",
    "STREAM.TEMPLATE.CREATE.S", "STREAM.TEMPLATE.NAMES", "META.LEADER.STEPDOWN", "SERVER.REMOVE",
    "ACCOUNT.PURGE.A", "INFO.x", "CONSUMER.NOPE", "stream.names",
]  # fmt: skip


@pytest.mark.parametrize("verb", SILENT)
@scenario("STR-103")
def test_unknown_subject_is_not_answered(js: JetStream, verb: str) -> None:
    js.silent(API + verb, b"")
    js.silent(API + verb, b"{}")


@scenario("STR-001", "STR-087")
def test_request_without_reply_is_executed(js: JetStream) -> None:
    js.cast(f"{API}STREAM.CREATE.S", b'{"name":"S"}')
    js.until(lambda: js.ask("STREAM.NAMES")["streams"] == ["S"])
    js.publish("S")
    js.cast(f"{API}STREAM.PURGE.S")
    js.settled("S", messages=0)
    js.cast(f"{API}STREAM.DELETE.S")
    js.until(lambda: js.ask("STREAM.NAMES")["streams"] is None)
    js.ok("STREAM.NAMES")


CLUSTER = [
    "STREAM.LEADER.STEPDOWN.S", "STREAM.PEER.REMOVE.S", "STREAM.PEER.EVACUATE.S",
    "STREAM.CANCEL_MOVE.S",
]  # fmt: skip


@pytest.mark.parametrize("verb", CLUSTER)
@scenario("STR-106")
def test_what_only_a_cluster_can_do(js: JetStream, verb: str) -> None:
    js.create("S", storage="memory")
    for body in (None, {}, {"peer": "x"}, b"x"):
        error = js.refused(verb, body)
        assert (error["code"], error["err_code"]) == (503, 10010)
        assert error["description"] == "JetStream clustering support required"
    js.refused(verb.removesuffix(".S") + ".T")


JSON_VERBS = [
    "INFO", "STREAM.CREATE.S", "STREAM.UPDATE.S", "STREAM.NAMES", "STREAM.LIST", "STREAM.INFO.S",
    "STREAM.DELETE.S", "STREAM.PURGE.S", "STREAM.MSG.GET.S", "STREAM.MSG.DELETE.S",
]  # fmt: skip


@pytest.mark.parametrize("verb", JSON_VERBS)
@scenario("STR-101", "STR-102")
def test_required_level_is_too_high(js: JetStream, verb: str) -> None:
    js.create("S", storage="memory")
    for level in ("6", "99", "x", "5x", "1.0"):
        error = js.refused(verb, None, {LEVEL: level})
        assert (error["code"], error["err_code"]) == (412, 10185)
        assert error["description"] == "JetStream minimum api level required"


@scenario("STR-101")
def test_required_level_is_met(js: JetStream) -> None:
    for level in ("0", "5", "-1", ""):
        js.ok("STREAM.NAMES", None, {LEVEL: level})
    js.ok("STREAM.CREATE.S", {"name": "S"}, {LEVEL: "5", "Other": "x"})


@own_server("STR-104", "STR-105")
def test_account_info(js: JetStream) -> None:
    info = js.ok("INFO")
    assert set(info["limits"].values()) == {-1, False}
    assert info["api"] == {"level": 5, "total": 0, "errors": 0}
    js.create("F")
    js.create("M", storage="memory", max_bytes=1000)
    js.refused("STREAM.INFO.X")
    js.publish("F", b"12345")
    js.publish("M", b"12345", {"A": "b"})
    info = js.ok("INFO")
    assert info["api"] == {"level": 5, "total": 4, "errors": 1}
    assert (info["streams"], info["consumers"]) == (2, 0)
    assert (info["memory"], info["storage"]) == (40, 36)
    assert (info["reserved_memory"], info["reserved_storage"]) == (1000, 0)
    js.message("F", seq=1)
    js.silent(f"{API}NOPE")
    assert js.request(f"{API}DIRECT.GET.F").status == "503"
    js.ok("STREAM.PURGE.F")
    js.ok("STREAM.DELETE.M")
    js.ok("INFO", b"whatever")
    js.ok("INFO", {"a": 1})


@own_server("STR-104", "STR-105")
def test_what_counts_as_an_api_request(js: JetStream) -> None:
    js.create("S", allow_direct=True)
    js.publish("S", b"x")

    def total() -> int:
        count: int = js.ok("INFO")["api"]["total"]
        return count

    for verb, body in [
        ("INFO", None), ("STREAM.NAMES", None), ("STREAM.LIST", None), ("STREAM.INFO.S", None),
        ("STREAM.MSG.GET.S", {"seq": 1}), ("STREAM.MSG.GET.S", {"seq": 9}), ("STREAM.PURGE.S", None),
        ("STREAM.MSG.DELETE.S", {"seq": 1}), ("STREAM.CREATE.S", b"{"), ("STREAM.LEADER.STEPDOWN.S", None),
    ]:  # fmt: skip
        before = total()
        js.api(verb, body)
        js.note(f"{verb} counts {total() - before}")
    before = total()
    js.direct("S", seq=1)
    js.note(f"direct get counts {total() - before}")
    before = total()
    js.silent(f"{API}NOPE")
    js.note(f"an unknown subject counts {total() - before}")
