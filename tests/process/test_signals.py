"""Signals: what each does to a running server, and what the log says about it."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.process.launch import READY, Launched
from tests.support.raw import RawClient
from tests.support.server import OURS, Kind
from tests.support.wire import connect, pub

LOCAL = ("-a", "127.0.0.1", "-p", "-1")
DUCK = 'lame_duck_duration: "30s"\nlame_duck_grace_period: "%s"\n'
ENDING = ["Initiating Shutdown...", "Server Exiting.."]


def connected(server: Launched, **options: object) -> RawClient:
    client = RawClient(server.port)
    client.read_info()
    client.exchange(connect(**options))
    return client


@pytest.mark.behaviour("CORE-066")
@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGTERM, "terminated"), (signal.SIGINT, "interrupt")]
)
def test_stop(kind: Kind, tmp_path: Path, number: signal.Signals, name: str) -> None:
    with Launched(kind, [*LOCAL, "-m", "-1"], tmp_path) as server:
        server.read_until(READY)
        with connected(server) as client:
            begin = time.monotonic()
            server.signal(number)
            assert client.closed()
        assert server.end() == 0
        assert time.monotonic() - begin < 1.0
        assert server.texts()[-3:] == [f'Trapped "{name}" signal', *ENDING]


@pytest.mark.behaviour("CORE-066")
def test_stop_delivers_what_was_published(kind: Kind, tmp_path: Path) -> None:
    with Launched(kind, LOCAL, tmp_path) as server:
        server.read_until(READY)
        with connected(server) as client:
            client.exchange(b"SUB a 1\r\n")
            client.exchange(b"")
            client.send(pub(b"a", b"x" * 500_000) * 4 + b"PING\r\n")
            head = client.read_until(b"MSG a 1 500000\r\n")
            server.signal(signal.SIGTERM)
            data = head + client.read_all()
        assert data.count(b"MSG a 1 500000\r\n" + b"x" * 500_000 + b"\r\n") >= 1
        assert server.end() == 0


def test_a_stop_that_is_repeated_is_still_clean(tmp_path: Path) -> None:
    with Launched(OURS, LOCAL, tmp_path) as server:
        server.read_until(READY)
        for _ in range(3):
            server.signal(signal.SIGTERM)
        assert server.end() == 0


def test_quit_shows_stacks(kind: Kind, tmp_path: Path) -> None:
    with Launched(kind, LOCAL, tmp_path) as server:
        server.read_until(READY)
        server.signal(signal.SIGQUIT)
        assert server.end() == 2
        assert "SIGQUIT: quit\n" in server.output
        assert ("goroutine" in server.output) or ("most recent call first" in server.output)


def test_reopening_the_log_of_a_terminal_is_ignored(kind: Kind, tmp_path: Path) -> None:
    with Launched(kind, LOCAL, tmp_path) as server:
        server.read_until(READY)
        server.signal(signal.SIGUSR1)
        server.read_until("not a file logger\n")
        assert server.texts()[-2:] == [
            'Trapped "user defined signal 1" signal',
            "File log re-open ignored, not a file logger",
        ]


def test_reload_needs_a_file(kind: Kind, tmp_path: Path) -> None:
    with Launched(kind, LOCAL, tmp_path) as server:
        server.read_until(READY)
        server.signal(signal.SIGHUP)
        server.read_until("--config\n")
        assert server.lines()[-2:] == [
            ("INF", 'Trapped "hangup" signal'),
            (
                "ERR",
                "Failed to reload server configuration: "
                "can only reload config when a file is provided using -c or --config",
            ),
        ]


class TestLameDuck:
    """`-p` comes after `-c`, so the port is free to choose."""

    @pytest.fixture
    def flags(self, tmp_path: Path) -> list[str]:
        (tmp_path / "short.conf").write_text(DUCK % "200ms")
        (tmp_path / "long.conf").write_text(DUCK % "20s")
        return [*LOCAL, "-c", "short.conf"]

    @pytest.mark.behaviour("CORE-065")
    def test_log(self, kind: Kind, tmp_path: Path, flags: list[str]) -> None:
        with Launched(kind, flags, tmp_path) as server:
            server.read_until(READY)
            with connected(server), connected(server):
                server.signal(signal.SIGUSR2)
                assert server.end() == 0
            assert server.texts()[-5:] == [
                'Trapped "user defined signal 2" signal',
                "Entering lame duck mode, stop accepting new clients",
                "Closing existing clients",
                *ENDING,
            ]

    @pytest.mark.behaviour("CORE-063", "CORE-065")
    def test_terminate_does_not_cut_it_short(
        self, kind: Kind, tmp_path: Path, flags: list[str]
    ) -> None:
        with Launched(kind, flags, tmp_path) as server:
            server.read_until(READY)
            with connected(server, protocol=1) as client:
                client.read_info()
                server.signal(signal.SIGUSR2)
                assert client.read_info()["ldm"] is True
                server.signal(signal.SIGTERM)
                server.signal(signal.SIGUSR2)
                assert server.end() == 0
            log = server.output
            assert log.index("terminated") < log.index("Closing existing clients")
            assert log.count("Entering lame duck mode") == 1

    @pytest.mark.behaviour("CORE-065")
    def test_interrupt_ends_it(self, kind: Kind, tmp_path: Path, flags: list[str]) -> None:
        with Launched(kind, [*LOCAL, "-c", "long.conf"], tmp_path) as server:
            server.read_until(READY)
            with connected(server) as client:
                server.signal(signal.SIGUSR2)
                server.read_until("Entering lame duck mode")
                server.signal(signal.SIGINT)
                assert client.closed()
            assert server.end() == 0
            assert server.texts()[-3:] == ['Trapped "interrupt" signal', *ENDING]
