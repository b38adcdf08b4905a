"""What an account and the server allow its streams."""

from __future__ import annotations

from tests.jetstream.support import OwnServer, own_server


def account(limits: str) -> str:
    block = f"A {{ users: [{{user: a, password: a}}]\n jetstream {{ {limits} }} }}"
    return f"accounts {{ {block} }}\nno_auth_user: a\n"


@own_server("STR-110", config=account("max_streams: 1"))
def test_number_of_streams(js: OwnServer) -> None:
    js.create("S")
    error = js.create_refused("T")
    assert (error["code"], error["err_code"]) == (400, 10027)
    js.create("S")
    js.ok("INFO")
    js.ok("STREAM.DELETE.S")
    js.create("T")


@own_server("STR-111", config=account("max_bytes_required: true"))
def test_limit_is_required(js: OwnServer) -> None:
    error = js.create_refused("S")
    assert (error["code"], error["err_code"]) == (400, 10113)
    js.create("S", max_bytes=1000)
    js.update_refused("S")
    js.ok("INFO")


@own_server("STR-112", config=account("disk_max_stream_bytes: 1000, mem_max_stream_bytes: 500"))
def test_limit_of_a_stream(js: OwnServer) -> None:
    error = js.create_refused("S", max_bytes=1001)
    assert (error["code"], error["err_code"]) == (400, 10122)
    js.create_refused("S", max_bytes=501, storage="memory")
    js.create("S", max_bytes=1000)
    js.api("STREAM.CREATE.T", {"name": "T"})
    js.ok("INFO")


@own_server("STR-113", config="jetstream { max_file_store: 1MB, max_memory_store: 1MB }\n")
def test_reservation_above_the_server(js: OwnServer) -> None:
    error = js.create_refused("S", max_bytes=2 << 20)
    assert error["err_code"] == 10047
    error = js.create_refused("S", max_bytes=2 << 20, storage="memory")
    assert error["err_code"] == 10028
    js.create("S", max_bytes=1 << 19)
    js.api("STREAM.CREATE.T", {"name": "T", "max_bytes": (1 << 19) + 1})
    js.ok("INFO")


@own_server("STR-104", config=account("max_file: 200, max_mem: 100"))
def test_bytes_of_the_account(js: OwnServer) -> None:
    js.create("S")
    js.publish("S", b"x" * 100)
    js.publish("S", b"x" * 100)
    js.publish("S", b"x")
    js.create("M", storage="memory")
    js.publish("M", b"x" * 100)
    js.ok("INFO")
