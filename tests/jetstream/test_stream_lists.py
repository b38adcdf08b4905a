"""Names, lists, pages, infos with details, and deletion of streams."""

from __future__ import annotations

import pytest

from tests.jetstream.support import STORAGES, TYPE, JetStream, scenario


@scenario("STR-089", "STR-090", "STR-091")
def test_nothing_there(js: JetStream) -> None:
    assert js.ok("STREAM.NAMES") == {
        "type": TYPE + "stream_names_response",
        "total": 0,
        "offset": 0,
        "limit": 1024,
        "streams": None,
    }
    assert js.ok("STREAM.LIST") == {
        "type": TYPE + "stream_list_response",
        "total": 0,
        "offset": 0,
        "limit": 256,
        "streams": [],
    }


@scenario("STR-094", "STR-092")
def test_names_and_pages(js: JetStream) -> None:
    for name in ("b", "a", "C", "a1"):
        js.create(name, storage="memory")
    assert js.ok("STREAM.NAMES")["streams"] == ["C", "a", "a1", "b"]
    assert js.ok("STREAM.NAMES", {"offset": 2})["streams"] == ["a1", "b"]
    for verb in ("STREAM.NAMES", "STREAM.LIST"):
        for offset in (-5, 0, 1, 3, 4, 5, 999):
            answer = js.ok(verb, {"offset": offset})
            assert answer["total"] == 4
            assert answer["offset"] == min(max(offset, 0), 4)
    assert [entry["config"]["name"] for entry in js.ok("STREAM.LIST")["streams"]] == [
        "C", "a", "a1", "b",
    ]  # fmt: skip


FILTERS = ["a.*", "a.b", ">", "*.c", "b.>", "x", "a.>", "*", "a.b.c.d", "a..b", "", "$JS.>", "*.*"]


@pytest.mark.parametrize("subject", FILTERS)
@scenario("STR-093")
def test_filter_by_subject(js: JetStream, subject: str) -> None:
    js.create("A", subjects=["a.b", "a.c"], storage="memory")
    js.create("B", subjects=["b.>"], storage="memory")
    js.create("C", subjects=["a.d.>", "c"], storage="memory")
    names = js.ok("STREAM.NAMES", {"subject": subject})["streams"]
    listed = js.ok("STREAM.LIST", {"subject": subject})["streams"]
    assert [entry["config"]["name"] for entry in listed] == (names or [])
    if subject == "a.*":
        assert names == ["A"]


@scenario("STR-093", "STR-092")
def test_filter_and_offset(js: JetStream) -> None:
    for name in ("A", "B", "C"):
        js.create(name, subjects=[f"s.{name}"], storage="memory")
    js.create("X", storage="memory")
    for offset in (0, 1, 3, 9):
        js.ok("STREAM.NAMES", {"subject": "s.*", "offset": offset})
        js.ok("STREAM.LIST", {"subject": "s.*", "offset": offset})


OPTIONAL_BODIES = [
    b"x",
    b"  ",
    b"hello",
    b'"a"',
    b"1",
    b"null",
    b" {}",
    b"{",
    b"[",
    b'{"offset":"1"}',
]


@pytest.mark.parametrize("body", OPTIONAL_BODIES, ids=repr)
@scenario("STR-007")
def test_optional_body(js: JetStream, body: bytes) -> None:
    js.create("S", storage="memory")
    for verb in ("STREAM.NAMES", "STREAM.LIST", "STREAM.INFO.S", "STREAM.PURGE.S"):
        js.api(verb, body)


@pytest.mark.parametrize("count", [257])
@scenario("STR-091")
def test_list_has_pages_of_256(js: JetStream, count: int) -> None:
    names = [f"s{number:04}" for number in range(count)]
    for name in names:
        assert "error" not in js.ask(f"STREAM.CREATE.{name}", {"name": name, "storage": "memory"})
    first = js.ok("STREAM.LIST")
    assert (first["total"], len(first["streams"])) == (count, 256)
    rest = js.ok("STREAM.LIST", {"offset": 256})
    listed = [entry["config"]["name"] for entry in first["streams"] + rest["streams"]]
    assert listed == names
    assert js.ok("STREAM.NAMES")["streams"] == names


@STORAGES
@scenario("STR-095")
def test_info_counts_subjects(js: JetStream, storage: str) -> None:
    js.create("S", subjects=["s.>"], storage=storage)
    assert "subjects" not in js.state("S", subjects_filter=">")
    js.publish_all("s.b", "s.a", "s.b", "s.c.d")
    info = js.info("S", subjects_filter=">")
    assert info["state"]["subjects"] == {"s.a": 1, "s.b": 2, "s.c.d": 1}
    assert info["state"]["num_subjects"] == 3
    assert (info["total"], info["offset"], info["limit"]) == (3, 0, 100_000)
    assert js.subjects("S", "s.*") == {"s.a": 1, "s.b": 2}
    assert js.subjects("S", "s.a") == {"s.a": 1}
    for pattern in ("s.x", "x", "a..b", "*", "", "s.c.>", "*.b"):
        js.subjects("S", pattern)
    for offset in (-1, 1, 3, 4, 100):
        js.info("S", subjects_filter=">", offset=offset)
        js.info("S", offset=offset)


@STORAGES
@scenario("STR-096")
def test_info_tells_what_was_deleted(js: JetStream, storage: str) -> None:
    js.create("S", storage=storage)
    js.publish_all(*["S"] * 7)
    for sequence in (2, 4, 5):
        js.ok("STREAM.MSG.DELETE.S", {"seq": sequence})
    state = js.state("S", deleted_details=True)
    assert (state["num_deleted"], state["deleted"]) == (3, [2, 4, 5])
    assert "deleted" not in js.state("S")
    js.ok("STREAM.MSG.DELETE.S", {"seq": 1})
    state = js.state("S", deleted_details=True)
    assert (state["first_seq"], state["deleted"]) == (3, [4, 5])
    js.ok("STREAM.MSG.DELETE.S", {"seq": 7})
    state = js.state("S", deleted_details=True)
    assert (state["last_seq"], state["messages"]) == (7, 2)


@scenario("STR-088")
def test_info_of_unknown_stream(js: JetStream) -> None:
    error = js.refused("STREAM.INFO.S")
    assert error == {"code": 404, "err_code": 10059, "description": "stream not found"}
    js.refused("STREAM.INFO.S", {"subjects_filter": ">"})
    js.refused("STREAM.INFO.S*")


@STORAGES
@scenario("STR-086", "STR-087", "STR-088")
def test_delete(js: JetStream, storage: str) -> None:
    js.create("S", storage=storage)
    js.publish("S")
    error = js.refused("STREAM.DELETE.S", {"a": 1})
    assert (error["code"], error["err_code"]) == (400, 10038)
    assert js.refused("STREAM.DELETE.S", b"x")["err_code"] == 10038
    assert js.ok("STREAM.DELETE.S", {})["success"] is True
    error = js.refused("STREAM.DELETE.S")
    assert error == {"code": 404, "err_code": 10059, "description": "stream not found"}
    js.refused("STREAM.DELETE.S", b"x")
    assert js.request("S").status == "503"
    assert js.refused("STREAM.INFO.S")["err_code"] == 10059


@STORAGES
@scenario("STR-088", "STR-001")
def test_a_deleted_stream_leaves_nothing_to_its_successor(js: JetStream, storage: str) -> None:
    js.create("S", storage=storage, max_msgs=5)
    js.publish("S", b"x", {"Nats-Msg-Id": "1"})
    js.delete("S")
    assert js.create("S", storage=storage)["state"]["last_seq"] == 0
    assert js.publish("S", b"x", {"Nats-Msg-Id": "1"}) == {"stream": "S", "seq": 1}


@scenario("STR-097")
def test_pages_of_subjects(js: JetStream) -> None:
    """100,000 to a page."""
    js.create("S", subjects=["s.*"], storage="memory")
    js.client.send(b"".join(b"PUB s.%d 0\r\n\r\n" % i for i in range(100_002)))
    js.until(lambda: js.ask("STREAM.INFO.S")["state"]["messages"] == 100_002)
    found: set[str] = set()
    for offset, count in ((0, 100_000), (100_000, 2), (100_002, 0)):
        body = {"subjects_filter": ">", "offset": offset}
        answer = js.ask("STREAM.INFO.S", body)
        page = answer["state"].get("subjects") or {}
        js.note([answer[key] for key in ("total", "offset", "limit")])
        assert len(page) == count
        assert not found & page.keys()
        found |= page.keys()
    assert len(found) == 100_002
