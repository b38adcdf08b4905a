"""MSG.DELETE: erasing and unlinking, and what is refused."""

from __future__ import annotations

import pytest

from tests.jetstream.support import STORAGES, JetStream, Json, scenario


@STORAGES
@pytest.mark.parametrize("no_erase", [False, True])
@scenario("MSG-010", "MSG-011", "MSG-002")
def test_delete(js: JetStream, storage: str, no_erase: bool) -> None:
    js.create("S", subjects=["s.*"], storage=storage)
    js.publish_all("s.a", "s.b", "s.a", "s.c")
    js.publish("s.c", b"with headers", {"A": "b"})
    options = {"no_erase": True} if no_erase else {}
    for sequence in (2, 5, 1):
        assert js.ok("STREAM.MSG.DELETE.S", {"seq": sequence, **options})["success"] is True
        assert js.refused("STREAM.MSG.GET.S", {"seq": sequence})["err_code"] == 10037
        js.state("S", subjects_filter=">", deleted_details=True)
    assert js.publish("s.a")["seq"] == 6
    for sequence in (1, 2, 5, 7, 0):
        js.refused("STREAM.MSG.DELETE.S", {"seq": sequence, **options})
    for sequence in (3, 4, 6):
        js.ok("STREAM.MSG.DELETE.S", {"seq": sequence, **options})
    state = js.state("S", subjects_filter=">", deleted_details=True)
    assert (state["messages"], state["bytes"], state["last_seq"]) == (0, 0, 6)


@STORAGES
@scenario("MSG-010")
def test_missing_sequence(js: JetStream, storage: str) -> None:
    js.create("S", storage=storage)
    js.refused("STREAM.MSG.DELETE.S", {"seq": 1})
    js.publish_all("S", "S", "S")
    js.ok("STREAM.MSG.DELETE.S", {"seq": 2})
    error = js.refused("STREAM.MSG.DELETE.S", {"seq": 2})
    assert (error["code"], error["err_code"]) == (400, 10043)
    assert error["description"] == "sequence 2 not found"
    js.refused("STREAM.MSG.DELETE.S", {"seq": 102})


@scenario("MSG-012")
def test_bad_request(js: JetStream) -> None:
    js.create("S")
    js.publish("S")
    bodies: list[Json | None] = [None, {}]
    for body in bodies:
        error = js.refused("STREAM.MSG.DELETE.S", body)
        assert error == {"code": 400, "err_code": 10003, "description": "bad request"}
    for odd in (b"x", b"{", b'{"seq":"1"}', b'{"seq":-1}', b'{"no_erase":true}', b'{"seq":0}'):
        js.refused("STREAM.MSG.DELETE.S", odd)
    assert js.refused("STREAM.MSG.DELETE.T", {"seq": 1})["err_code"] == 10059
    js.refused("STREAM.MSG.DELETE.T")


@scenario("MSG-013")
def test_delete_is_denied(js: JetStream) -> None:
    js.create("S", deny_delete=True)
    js.publish("S")
    error = js.refused("STREAM.MSG.DELETE.S", {"seq": 1})
    assert (error["code"], error["err_code"]) == (500, 10057)
    assert error["description"] == "message delete not permitted"
    js.refused("STREAM.MSG.DELETE.S", {"seq": 9})
    js.refused("STREAM.MSG.DELETE.S")
    assert js.ok("STREAM.PURGE.S")["purged"] == 1
