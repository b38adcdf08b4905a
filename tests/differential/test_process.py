"""The server as a process: signals, exit codes, ports file, and the check of a config."""

from __future__ import annotations

import hashlib
import json
import signal
import time
from pathlib import Path

import pytest

from tests.support.raw import RawClient
from tests.support.server import Kind, Start, run
from tests.support.wire import QUIET, UNAUTHORIZED, connect, msg, pub

PING = b"PING\r\n"
BOTH_USERS = "authorization { users: [{user: a, password: a}, {user: b, password: b}] }\n"
ONE_USER = "authorization { users: [{user: a, password: a}] }\n"


def login(name: str) -> bytes:
    return connect(user=name, **{"pass": name})


@pytest.mark.behaviour("CORE-063", "CORE-064", "CORE-065")
def test_lame_duck(start: Start) -> None:
    server = start('lame_duck_grace_period: "500ms"\nlame_duck_duration: "30s"\n')
    with server.client(connect(protocol=1)) as modern, server.client(QUIET) as old:
        modern.exchange()
        assert modern.read_info()["connect_info"] is True
        old.exchange()
        begin = time.monotonic()
        server.signal(signal.SIGUSR2)
        info = modern.read_info()
        assert info["ldm"] is True
        assert "connect_info" not in info
        with pytest.raises(ConnectionRefusedError):
            RawClient(server.port)
        assert modern.exchange(b"SUB a 1\r\n" + pub(b"a")) == msg(b"a", 1)
        assert old.exchange() == b""
        assert modern.closed()
        assert time.monotonic() - begin > 0.45
        assert old.closed()
        assert server.wait() == 0
        assert time.monotonic() - begin < 10


@pytest.mark.behaviour("CORE-065")
def test_lame_duck_without_clients_ends_at_once(start: Start) -> None:
    server = start('lame_duck_grace_period: "20s"\n')
    server.signal(signal.SIGUSR2)
    assert server.wait(5) == 0


@pytest.mark.behaviour("CORE-066")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_shutdown_by_signal_exits_with_zero(start: Start, number: signal.Signals) -> None:
    server = start()
    with server.client(QUIET) as client:
        client.exchange()
        server.signal(number)
        assert client.closed()
    assert server.wait() == 0
    assert "Server Exiting.." in server.log()


@pytest.mark.behaviour("CORE-067")
def test_reload_closes_clients_of_removed_users(start: Start) -> None:
    server = start(BOTH_USERS)
    with server.client(login("a") + b"SUB x 1\r\n") as kept, server.client(login("b")) as removed:
        assert kept.exchange() == removed.exchange() == b""
        server.reload(ONE_USER)
        assert removed.closed()
        assert kept.exchange(pub(b"x")) == msg(b"x", 1)
    assert server.talk(login("b") + PING) == UNAUTHORIZED


@pytest.mark.behaviour("CORE-067")
def test_reload_tells_clients_whose_password_changed(start: Start) -> None:
    server = start(ONE_USER)
    with server.client(login("a")) as client:
        assert client.exchange() == b""
        server.reload(ONE_USER.replace("password: a", "password: other"))
        assert client.read_all() == UNAUTHORIZED


@pytest.mark.behaviour("CORE-067")
def test_reload_of_a_broken_file_keeps_the_old_config(start: Start) -> None:
    server = start(ONE_USER)
    with server.client(login("a")) as client:
        client.exchange()
        server.reload("authorization { users: [\n")
        server.wait_for_log("[ERR] Failed to reload server configuration: ")
        assert client.exchange() == b""


@pytest.mark.behaviour("CORE-068")
def test_check_prints_the_digest_of_a_valid_config(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "good.conf").write_text("# a comment\nmax_pending = 200000\nserver_name: <x>\n")
    digest = hashlib.sha256(b'{"max_pending":200000,"server_name":"\\u003cx\\u003e"}\n').hexdigest()
    done = run(kind, "-t", "-c", "good.conf", directory=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith(f": configuration file good.conf is valid (sha256:{digest})\n")


@pytest.mark.behaviour("CORE-068")
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("foo: bar\n", ': bad.conf:1:0: unknown field "foo"\n'),
        (
            'port: 1\nlame_duck_duration: "10s"\n',
            ": bad.conf:2:1: invalid lame_duck_duration of 10s, minimum is 30 seconds\n",
        ),
    ],
)
def test_check_refuses_a_bad_config(kind: Kind, tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "bad.conf").write_text(text)
    done = run(kind, "-t", "-c", "bad.conf", directory=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert complaint in done.stderr


@pytest.mark.behaviour("CORE-058")
def test_payload_limit_above_the_pending_limit_does_not_start(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "bad.conf").write_text("max_payload: 1048576\nmax_pending: 200000\n")
    done = run(kind, "-p", "-1", "-c", "bad.conf", directory=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    text = ": max_payload (1048576) cannot be higher than max_pending (200000)\n"
    assert done.stderr.endswith(text)


@pytest.mark.behaviour("CONF-014")
def test_random_port_is_told_by_the_ports_file(start: Start) -> None:
    first, second = start(flags=["-m", "-1"]), start()
    assert first.port != second.port
    assert first.ports["nats"] == [f"nats://127.0.0.1:{first.port}"]
    assert [url.rpartition(":")[0] for url in first.ports["monitoring"]] == ["http://127.0.0.1"]
    assert set(second.ports) == {"nats"}
    with RawClient(first.port) as client:
        assert client.read_info()["port"] == first.port
    [file] = first.directory.glob(f"*_{first.process.pid}.ports")
    assert json.loads(file.read_text()) == first.ports
    first.stop()
    assert not file.exists()
