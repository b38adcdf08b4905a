"""Purge: all, by subject, by sequence, all but the newest."""

from __future__ import annotations

import json

import pytest

from tests.jetstream.support import STORAGES, ZERO_TIME, JetStream, Json, scenario


def fill(js: JetStream, storage: str, **config: object) -> None:
    """s.a at 1 3 5 7, s.b at 2 6, t.c at 4 8."""
    js.create("S", subjects=["s.*", "t.*"], storage=storage, **config)
    js.publish_all("s.a", "s.b", "s.a", "t.c", "s.a", "s.b", "s.a", "t.c")


@STORAGES
@scenario("STR-108")
def test_purge_all(js: JetStream, storage: str) -> None:
    fill(js, storage)
    before = js.state("S")
    assert js.ok("STREAM.PURGE.S")["purged"] == 8
    state = js.state("S")
    assert (state["messages"], state["bytes"]) == (0, 0)
    assert (state["first_seq"], state["last_seq"]) == (9, 8)
    assert state["first_ts"] == ZERO_TIME
    assert state["last_ts"] == before["last_ts"]
    assert "num_subjects" not in state
    assert js.ok("STREAM.PURGE.S")["purged"] == 0
    assert js.publish("s.a")["seq"] == 9
    js.state("S", subjects_filter=">", deleted_details=True)


# The request, how many it removes, the sequences that stay.
PURGES: list[tuple[str, Json, int, list[int]]] = [
    ("MSG-017", {"filter": "s.a"}, 4, [2, 4, 6, 8]),
    ("MSG-017", {"filter": "s.*"}, 6, [4, 8]),
    ("MSG-017", {"filter": ">"}, 8, []),
    ("MSG-017", {"filter": "x"}, 0, [1, 2, 3, 4, 5, 6, 7, 8]),
    ("MSG-017", {"filter": ""}, 8, []),
    ("MSG-017", {"filter": "*.c"}, 2, [1, 2, 3, 5, 6, 7]),
    ("MSG-015", {"seq": 4}, 3, [4, 5, 6, 7, 8]),
    ("MSG-015", {"seq": 1}, 0, [1, 2, 3, 4, 5, 6, 7, 8]),
    ("MSG-015", {"seq": 8}, 7, [8]),
    ("MSG-015", {"seq": 9}, 8, []),
    ("MSG-015", {"filter": "s.a", "seq": 5}, 2, [2, 4, 5, 6, 7, 8]),
    ("MSG-015", {"filter": "s.*", "seq": 5}, 3, [4, 5, 6, 7, 8]),
    ("MSG-015", {"filter": "s.*", "seq": 100}, 6, [4, 8]),
    ("MSG-016", {"keep": 3}, 5, [6, 7, 8]),
    ("MSG-016", {"keep": 0}, 8, []),
    ("MSG-016", {"keep": 8}, 0, [1, 2, 3, 4, 5, 6, 7, 8]),
    ("MSG-016", {"keep": 20}, 0, [1, 2, 3, 4, 5, 6, 7, 8]),
    ("MSG-016", {"filter": "s.a", "keep": 1}, 3, [2, 4, 6, 7, 8]),
    ("MSG-016", {"filter": "s.*", "keep": 2}, 4, [4, 6, 7, 8]),
    ("MSG-016", {"filter": "s.b", "keep": 5}, 0, [1, 2, 3, 4, 5, 6, 7, 8]),
]


def cases() -> list[object]:
    return [
        pytest.param(body, purged, left, marks=pytest.mark.behaviour(row), id=json.dumps(body))
        for row, body, purged, left in PURGES
    ]


@STORAGES
@pytest.mark.parametrize(("body", "purged", "left"), cases())
@scenario()
def test_purge(js: JetStream, storage: str, body: Json, purged: int, left: list[int]) -> None:
    fill(js, storage)
    answer = js.ok("STREAM.PURGE.S", body)
    assert (answer["success"], answer["purged"]) == (True, purged)
    state = js.state("S", subjects_filter=">", deleted_details=True)
    present = set(range(state["first_seq"], state["last_seq"] + 1)) - set(state.get("deleted", []))
    assert sorted(present) == left
    assert state["messages"] == len(left)
    for sequence in range(1, 9):
        js.api("STREAM.MSG.GET.S", {"seq": sequence})


@STORAGES
@scenario("MSG-015")
def test_purge_beyond_the_end(js: JetStream, storage: str) -> None:
    fill(js, storage)
    js.ok("STREAM.PURGE.S", {"seq": 100})
    js.state("S", deleted_details=True)
    js.publish("s.a")
    js.state("S")


@scenario("MSG-018")
def test_sequence_with_keep(js: JetStream) -> None:
    js.create("S")
    error = js.refused("STREAM.PURGE.S", {"seq": 1, "keep": 1})
    assert error == {"code": 400, "err_code": 10003, "description": "bad request"}
    js.refused("STREAM.PURGE.S", {"seq": 1, "keep": 1, "filter": "S"})
    js.refused("STREAM.PURGE.T", {"seq": 1, "keep": 1})


@scenario("MSG-019")
def test_purge_is_denied(js: JetStream) -> None:
    js.create("S", deny_purge=True)
    js.publish("S")
    answer = js.api("STREAM.PURGE.S")
    assert (answer["error"]["code"], answer["error"]["err_code"]) == (500, 10110)
    assert answer["error"]["description"] == "stream purge not permitted"
    assert answer["purged"] == 0
    js.refused("STREAM.PURGE.S", {"filter": "x"})
    assert js.state("S")["messages"] == 1


@scenario("MSG-017")
def test_odd_requests(js: JetStream) -> None:
    js.create("S")
    assert js.refused("STREAM.PURGE.T")["err_code"] == 10059
    js.publish_all("S", "S")
    for body in ({"filter": "a..b"}, {"filter": "a b"}, {"seq": -1}, {"keep": -1}, {"seq": "1"}):
        js.api("STREAM.PURGE.S", body)
    js.state("S")


@STORAGES
@scenario("MSG-017", "MSG-016")
def test_purge_an_empty_stream(js: JetStream, storage: str) -> None:
    js.create("S", storage=storage)
    for body in (None, {}, {"filter": "S"}, {"seq": 5}, {"keep": 2}):
        assert js.ok("STREAM.PURGE.S", body)["purged"] == 0
        js.state("S")
    js.create("T", storage=storage, first_seq=100)
    js.ok("STREAM.PURGE.T")
    js.state("T")
