"""CONSUMER.NAMES and CONSUMER.LIST: order, pages, what they show and what they refuse."""

from __future__ import annotations

import json

import pytest

from tests.jetstream.consumers import add, body, names
from tests.jetstream.support import JetStream, Json, encode_body, frame_of, scenario

VERBS = pytest.mark.parametrize("verb", ["NAMES", "LIST"])


def shown(answer: Json) -> list[str]:
    return [each if isinstance(each, str) else each["name"] for each in answer["consumers"]]


@VERBS
@scenario("CON-066")
def test_pages(js: JetStream, verb: str) -> None:
    js.create("S", subjects=["s.>"])
    for name in ("b", "a", "C", "aa"):
        add(js, "S", name)
    for offset, expected in (
        (0, ["C", "a", "aa", "b"]),
        (2, ["aa", "b"]),
        (-1, ["C", "a", "aa", "b"]),
        (4, []),
        (99, []),
    ):
        answer = js.ok(f"CONSUMER.{verb}.S", {"offset": offset})
        assert shown(answer) == expected
        assert (answer["total"], answer["offset"]) == (4, min(max(offset, 0), 4))
        assert answer["limit"] == {"NAMES": 1024, "LIST": 256}[verb]


@VERBS
@scenario()
def test_no_consumers(js: JetStream, verb: str) -> None:
    js.create("S", subjects=["s.>"])
    assert js.ok(f"CONSUMER.{verb}.S")["consumers"] == []


@scenario()
def test_a_list_leaves_the_versions_out(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    add(js, "S", "C", metadata={"a": "b"})
    (listed,) = js.ok("CONSUMER.LIST.S")["consumers"]
    assert listed["config"]["metadata"] == {"a": "b", "_nats.req.level": "0"}
    assert listed["stream_name"] == "S"


@scenario()
def test_a_full_page(js: JetStream) -> None:
    js.create("S", subjects=["s.>"], storage="memory")
    made = [f"C{i:03}" for i in range(260)]
    for name in made:
        request = encode_body(body("S", {}))
        js.client.send(frame_of(f"$JS.API.CONSUMER.CREATE.S.{name}", request, None, b""))
    js.until(lambda: js.ask("CONSUMER.NAMES.S")["total"] == len(made))
    answer = js.ask("CONSUMER.LIST.S")
    assert (answer["total"], shown(answer)) == (260, made[:256])
    assert shown(js.ask("CONSUMER.LIST.S", {"offset": 256})) == made[256:]
    assert names(js, "S") == made
    assert js.state("S")["consumer_count"] == 260


BODIES: list[tuple[str, int]] = [
    ("", 0),
    ("{}", 0),
    ("text", 0),
    ("null", 0),
    ("[1]", 10025),
    ("{", 10025),
    ('{"x":1}', 10025),
    ('{"subject":"s"}', 10025),
    ('{"offset":"1"}', 10025),
]


@VERBS
@pytest.mark.parametrize(("text", "code"), BODIES, ids=json.dumps)
@scenario()
def test_bodies(js: JetStream, verb: str, text: str, code: int) -> None:
    js.create("S", subjects=["s.>"])
    answer = js.api(f"CONSUMER.{verb}.S", text.encode())
    assert answer.get("error", {}).get("err_code", 0) == code
    assert answer["consumers"] == []
    if code:
        assert answer["limit"] == 0


@VERBS
@scenario()
def test_unknown_stream(js: JetStream, verb: str) -> None:
    assert js.refused(f"CONSUMER.{verb}.S")["err_code"] == 10059
    assert js.refused(f"CONSUMER.{verb}.S", b"{")["err_code"] == 10025
