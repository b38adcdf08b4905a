"""Advisories on streams and on API requests."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.jetstream.support import JetStream, Json, scenario

ADVISORY = "$JS.EVENT.ADVISORY."
NUID = re.compile(r"[0-9A-Za-z]{22}")


def check_head(advisory: Json, kind: str) -> None:
    assert list(advisory)[:3] == ["type", "id", "timestamp"]
    assert advisory["type"] == f"io.nats.jetstream.advisory.v1.{kind}"
    assert NUID.fullmatch(advisory["id"])


@scenario("DLV-016")
def test_streams(js: JetStream) -> None:
    js.listen(ADVISORY + "STREAM.>")
    acts: list[tuple[str, str, Callable[[], Json]]] = [
        ("CREATED", "create", lambda: js.create("S")),
        ("UPDATED", "modify", lambda: js.update("S", max_msgs=5)),
        ("UPDATED", "modify", lambda: js.update("S", max_msgs=5)),
        ("DELETED", "delete", lambda: js.delete("S")),
    ]
    for word, action, act in acts:
        act()
        (message,) = js.heard(1)
        assert message.subject == f"{ADVISORY}STREAM.{word}.S"
        assert (message.headers, message.reply) == (b"", "")
        check_head(message.json, "stream_action")
        assert list(message.json)[3:] == ["stream", "action"]
        assert (message.json["stream"], message.json["action"]) == ("S", action)


@scenario("DLV-016")
def test_nothing_happened(js: JetStream) -> None:
    js.create("S")
    js.listen(ADVISORY + "STREAM.>")
    js.create("S")
    js.create_refused("S", max_msgs=1)
    js.update_refused("S", storage="memory")
    js.refused("STREAM.DELETE.T")
    js.publish("S")
    js.ok("STREAM.PURGE.S")
    js.heard_nothing()


@scenario("DLV-038")
def test_api_requests(js: JetStream) -> None:
    js.listen(ADVISORY + "API")
    created = js.create("S")
    (message,) = js.heard(1)
    audit = message.json
    check_head(audit, "api_audit")
    assert list(audit)[3:] == ["server", "client", "subject", "request", "response"]
    assert audit["subject"] == "$JS.API.STREAM.CREATE.S"
    assert audit["request"] == '{"name": "S"}'
    assert '"did_create":true' in audit["response"]
    assert audit["client"]["acc"] == "$G"
    assert created["type"] in audit["response"]
    for verb, body in [
        ("STREAM.UPDATE.S", {"name": "S", "max_msgs": 5}),
        ("STREAM.INFO.S", None),
        ("STREAM.INFO.S", {"subjects_filter": ">"}),
        ("STREAM.INFO.T", None),
        ("STREAM.NAMES", None),
        ("STREAM.LIST", {"offset": 0}),
        ("STREAM.CREATE.S", b"{bad"),
        ("STREAM.PURGE.S", None),
        ("STREAM.LEADER.STEPDOWN.S", None),
        ("STREAM.MSG.DELETE.S", {"seq": 5}),
        ("STREAM.MSG.GET.S", {"seq": 5}),
        ("STREAM.DELETE.S", {}),
    ]:
        js.api(verb, body)
        assert js.heard(1)[0].json["subject"] == f"$JS.API.{verb}"


@scenario("DLV-038")
def test_reading_a_message_is_not_audited(js: JetStream) -> None:
    js.create("S", allow_direct=True)
    js.publish("S")
    js.listen(ADVISORY + "API")
    js.message("S", seq=1)
    js.direct("S", seq=1)
    js.direct("S", seq=9)
    js.ok("STREAM.NAMES")
    assert js.heard(1)[0].json["subject"] == "$JS.API.STREAM.NAMES"


@scenario("DLV-041")
def test_everything_at_once(js: JetStream) -> None:
    js.listen("$JS.EVENT.>")
    js.create("S")
    created, audit = sorted(js.heard(2), key=lambda message: -len(message.subject))
    assert created.subject == ADVISORY + "STREAM.CREATED.S"
    assert audit.subject == ADVISORY + "API"
