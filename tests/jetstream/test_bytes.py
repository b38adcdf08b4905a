"""Byte accounting: what a message counts, stored and removed again."""

from __future__ import annotations

import pytest

from tests.jetstream.support import STORAGES, JetStream, header_block, scenario

HEADERS = {"Key": "value", "Nats-Msg-Id": "x"}


def counted(storage: str, subject: str, data: bytes, headers: dict[str, str] | None = None) -> int:
    block = len(header_block(headers))
    if storage == "file":
        return 30 + len(subject) + len(data) + (4 + block if block else 0)
    return 16 + len(subject) + len(data) + block


@scenario("STR-109")
def test_one_byte_counts_32(js: JetStream) -> None:
    js.create("S", subjects=["f"])
    js.publish("f", b"x")
    assert js.state("S")["bytes"] == 32


@STORAGES
@pytest.mark.parametrize("size", [0, 1, 7, 1000, 70_000])
@scenario("STR-109")
def test_formula(js: JetStream, storage: str, size: int) -> None:
    js.create("S", subjects=["s.>"], storage=storage)
    data = b"x" * size
    js.publish("s.one", data)
    expected = counted(storage, "s.one", data)
    assert js.state("S")["bytes"] == expected
    js.publish("s.two.longer", data, HEADERS)
    expected += counted(storage, "s.two.longer", data, HEADERS)
    assert js.state("S")["bytes"] == expected


@STORAGES
@pytest.mark.parametrize("compression", ["none", "s2"])
@scenario("STR-109")
def test_removal_gives_it_back(js: JetStream, storage: str, compression: str) -> None:
    js.create("S", subjects=["s.*"], storage=storage, compression=compression)
    sizes = []
    for number in range(6):
        headers = HEADERS | {"Nats-Msg-Id": str(number)} if number % 2 else None
        js.publish(f"s.{number % 3}", b"x" * number, headers)
        sizes.append(counted(storage, "s.0", b"x" * number, headers))
    assert js.state("S")["bytes"] == sum(sizes)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 2})
    assert js.state("S")["bytes"] == sum(sizes) - sizes[1]
    js.ok("STREAM.PURGE.S", {"filter": "s.0"})
    assert js.state("S")["bytes"] == sizes[2] + sizes[4] + sizes[5]
    js.ok("STREAM.PURGE.S", {"seq": 6})
    assert js.state("S")["bytes"] == sizes[5]
    js.ok("STREAM.PURGE.S")
    assert js.state("S")["bytes"] == 0


@STORAGES
@scenario("STR-109", "STR-104")
def test_account_counts_the_same(js: JetStream, storage: str) -> None:
    js.create("S", subjects=["s.*"], storage=storage)
    js.create("T", subjects=["t.*"], storage=storage)
    js.publish_all("s.1", "t.1", "s.2")
    kind = "storage" if storage == "file" else "memory"
    total = js.state("S")["bytes"] + js.state("T")["bytes"]
    assert js.ask("INFO")[kind] == total
    js.delete("T")
    assert js.ask("INFO")[kind] == js.state("S")["bytes"]


@STORAGES
@scenario("STR-109")
def test_status_line_in_headers_is_cut_before_counting(js: JetStream, storage: str) -> None:
    js.create("S", storage=storage)
    js.publish("S", b"", b"NATS/1.0 404 Not Found\r\nA: b\r\n\r\n")
    assert js.state("S")["bytes"] == counted(storage, "S", b"", {"A": "b"})
