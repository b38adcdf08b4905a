"""Trace and debug lines: both servers write the same ones for the same bytes."""

from __future__ import annotations

import re

import pytest

from tests.support.server import ORACLE, OURS, StartServer
from tests.support.wire import connect

BYTES = (
    connect(
        headers=True,
        no_responders=True,
        user="a",
        lang="py",
        version="1",
        name="bob",
        **{"pass": "x"},
    )
    + b'SUB foo 1\r\nSUB foo q 2\r\nPUB foo 2\r\nhi\r\nPUB foo rep 2\r\nh"\r\nPUB nobody _I.a 2\r\nhi\r\n'
    b"SUB _I.> 7\r\nPUB nobody _I.a 0\r\n\r\nHPUB foo 12 14\r\nNATS/1.0\r\n\r\nhi\r\nUNSUB 1 5\r\n"
    b"UNSUB 2\r\nPONG\r\nSUB a..b 4\r\nPUB foo 3\r\n\x00\xff\xfe\r\nPUB foo 40\r\n"
    + b"y" * 40
    + b"\r\nPING\r\n"
)
# Ours says less about the system account, and does not know Go.
LINE = re.compile(r"\[(DBG|TRC)\] 127\.0\.0\.1:\d+ - cid:\d+ - (.*)")
SECRETS = connect(user="a", **{"pass": "hunter2", "auth_token": "hunter2", "sig": "hunter2"})


def lines(log: str) -> list[str]:
    # Which of several subscriptions of one client is served first is free.
    found = [f"{level} {text}" for level, text in LINE.findall(log)]
    return sorted(line for line in found if "Ping Timer" not in line)


@pytest.mark.parametrize("config", ["", "max_traced_msg_len: 10\n", "trace_headers: true\n"])
def test_the_same_bytes_leave_the_same_traces(start_server: StartServer, config: str) -> None:
    logs = []
    for kind in (ORACLE, OURS):
        server = start_server(kind, config=config, flags=["-DV"])
        with server.client() as client:
            client.exchange(BYTES)
        logs.append(lines(server.wait_for_log("DELSUB 7")))
    assert len(logs[0]) > 25
    assert logs[1] == logs[0]


def test_secrets_are_not_traced(start_server: StartServer) -> None:
    server = start_server(OURS, flags=["-DV"])
    with server.client() as client:
        client.exchange(SECRETS)
    log = server.wait_for_log("Client connection closed")
    assert log.count("[REDACTED]") == 3
    assert "hunter2" not in log
