"""What the server says first."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.differential.transcript import INFO_ADDITIONS, normal_info
from tests.support.raw import RawClient, parse_info
from tests.support.server import KINDS, Server, Start, StartServer
from tests.support.wire import PONG, connect

EVERY_CLIENT = {
    "server_id", "server_name", "version", "proto", "git_commit", "go", "host", "port", "headers",
    "max_payload", "client_id", "client_ip", "api_lvl", "xkey",
}  # fmt: skip
KEY = re.compile(r"[A-Z2-7]{56}")


def keys(info: dict[str, Any]) -> set[str]:
    return set(info) - INFO_ADDITIONS


@pytest.mark.behaviour("CORE-001")
def test_server_speaks_first(server: Server) -> None:
    with RawClient(server.port) as client:
        line = client.read_frame()
    assert line.startswith(b'INFO {"')
    assert line.endswith(b"} \r\n")


@pytest.mark.behaviour("CORE-002")
def test_info_carries_the_facts_of_server_and_connection(server: Server) -> None:
    with RawClient(server.port) as client:
        info = client.read_info()
    assert keys(info) == EVERY_CLIENT
    assert KEY.fullmatch(info["server_id"])
    assert info["server_id"][0] == "N"
    assert info["server_name"] == info["server_id"]
    assert KEY.fullmatch(info["xkey"])
    assert info["xkey"][0] == "X"
    fixed = {key: info[key] for key in ("version", "proto", "headers", "max_payload", "client_ip")}
    assert fixed == {
        "version": "2.15.1",
        "proto": 1,
        "headers": True,
        "max_payload": 1 << 20,
        "client_ip": "127.0.0.1",
    }
    assert (info["host"], info["port"]) == ("127.0.0.1", server.port)


@pytest.mark.behaviour("CORE-002")
def test_client_ids_count_up_and_differ(server: Server) -> None:
    ids = []
    for _ in range(3):
        with RawClient(server.port) as client:
            ids.append(client.read_info()["client_id"])
    assert ids == sorted(set(ids))
    assert ids[0] >= 1


@pytest.mark.behaviour("CORE-003")
def test_api_level_is_there_without_jetstream(server: Server) -> None:
    with RawClient(server.port) as client:
        info = client.read_info()
    assert info["api_lvl"] == 5
    assert "jetstream" not in info


@pytest.mark.behaviour("CORE-004")
def test_second_info_follows_the_first_pong(server: Server) -> None:
    with server.client(connect(protocol=1) + b"PING\r\nPING\r\n") as client:
        assert client.read_frame() == PONG
        info = client.read_info()
        assert client.read_frame() == PONG
        assert client.talk(b"PING\r\n") == PONG
    assert keys(info) == EVERY_CLIENT | {"connect_info", "remote_account"}
    assert info["connect_info"] is True
    assert info["remote_account"] == "$G"


@pytest.mark.behaviour("CORE-004")
@pytest.mark.parametrize(
    ("sent", "infos"),
    [
        (connect(protocol=0) + b"PING\r\n", 0),
        (connect() + b"PING\r\n", 0),
        (connect(protocol=1), 0),
        (b"PING\r\nPING\r\n", 0),
        (b"PING\r\n" + connect(protocol=1) + b"PING\r\n", 1),
        (connect(protocol=0) + b"PING\r\n" + connect(protocol=1) + b"PING\r\n", 0),
        (connect(protocol=1) + b"PING\r\n" + connect(protocol=1) + b"PING\r\n", 1),
    ],
    ids=["protocol 0", "no protocol", "no ping", "no connect", "late", "too late", "once"],
)
def test_who_gets_a_second_info(server: Server, sent: bytes, infos: int) -> None:
    assert server.talk(sent).count(b'"connect_info":true') == infos


@pytest.mark.parametrize(
    ("config", "flags"),
    [
        ("server_name: fred\n", []),
        ("max_payload: 4096\n", []),
        ("no_header_support: true\n", []),
        ("authorization { token: t }\n", []),
        ('client_advertise: "example.com:4333"\n', []),
        (None, ["-n", "fred"]),
        (None, ["--user", "u", "--pass", "p"]),
        (None, ["--auth", "t"]),
    ],
)
def test_info_follows_the_options(
    start_server: StartServer, config: str | None, flags: list[str]
) -> None:
    infos = []
    for kind in KINDS:
        server = start_server(kind, config, flags)
        with RawClient(server.port) as client:
            infos.append(normal_info(client.read_info()))
    assert infos[0] == infos[1]


def test_host_in_info_is_the_one_bound_to(start: Start) -> None:
    server = start(host=None)
    with RawClient(server.port) as client:
        assert parse_info(client.read_frame())["host"] == "0.0.0.0"
