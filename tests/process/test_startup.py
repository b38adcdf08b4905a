"""What a starting server writes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jetstream_py.store import Store
from tests.process.launch import LINE, READY, Launched
from tests.support.server import ORACLE, OURS, Kind, StartServer, executable

LOCAL = ("-a", "127.0.0.1", "-p", "-1")
# Each server says what it is built from. Ours cannot advise to use bcrypt before it knows it.
OWN_LINES = ("  Git:  ", "  Server:  ", "Plaintext passwords detected")

LIGHT = {"bisect", "blake2", "hashlib", "hmac", "md5", "random", "sha2", "sha3", "sha512"}


def shape(text: str) -> str:
    """The line without what differs from start to start."""
    text = re.sub(r"\bN[A-Z2-7]{55}\b", "<id>", text)
    return re.sub(r":\d+$", ":<port>", text)


def start_up(kind: Kind, directory: Path, *flags: str) -> list[tuple[str, str]]:
    with Launched(kind, [*LOCAL, *flags], directory) as server:
        server.read_until(READY)
        lines = server.lines()
    return [(level, shape(text)) for level, text in lines if not text.startswith(OWN_LINES)]


@pytest.mark.parametrize("flags", [(), ("-m", "-1"), ("-n", "box"), ("-c", "server.conf")])
def test_the_lines_are_those_of_nats_server(tmp_path: Path, flags: tuple[str, ...]) -> None:
    (tmp_path / "server.conf").write_text(
        "max_payload: 9MB\nauthorization: {user: a, password: b}\n"
    )
    ours = start_up(OURS, tmp_path, *flags)
    assert ours == start_up(ORACLE, tmp_path, *flags)
    assert ours[0] == ("INF", "Starting nats-server")
    assert ours[-1] == ("INF", READY)


def test_our_own_version_is_in_the_log(tmp_path: Path) -> None:
    with Launched(OURS, LOCAL, tmp_path) as server:
        log = server.read_until(READY)
    assert re.search(r"\[INF\]   Server:   jetstream-py \d+\.\d+\.\d+, Python 3\.\d+\.\d+\n", log)


def test_the_time_may_be_left_out(kind: Kind, tmp_path: Path) -> None:
    with Launched(kind, [*LOCAL, "-T=false"], tmp_path) as server:
        log = server.read_until(READY)
        assert f"[{server.pid}] [INF] {READY}\n" in log


@pytest.mark.parametrize(("flag", "utc"), [("--logtime_utc=false", False), ("--logtime_utc", True)])
def test_the_time_is_local_or_utc(kind: Kind, tmp_path: Path, flag: str, utc: bool) -> None:
    environ = {"TZ": "Pacific/Kiritimati"}  # 14 hours ahead, all year
    with Launched(kind, [*LOCAL, flag], tmp_path, environ=environ) as server:
        match = LINE.match(server.read_until("\n"))
    assert match
    written = datetime.strptime(match[2], "%Y/%m/%d %H:%M:%S.%f").replace(tzinfo=UTC)
    ahead = timedelta(0) if utc else timedelta(hours=14)
    assert abs(datetime.now(UTC) + ahead - written) < timedelta(minutes=1)


def test_a_terminal_gets_colours(kind: Kind, tmp_path: Path) -> None:
    with Launched(kind, [*LOCAL, "-D"], tmp_path, terminal=True) as server:
        log = server.read_until(READY)
    assert "[\x1b[32mINF\x1b[0m] Starting nats-server" in log


def test_a_running_server_without_clients_is_quiet(kind: Kind, tmp_path: Path) -> None:
    with Launched(kind, [*LOCAL, "-m", "-1"], tmp_path) as server:
        server.read_until(READY + "\n")
        assert server.read_for(1.0) == ""


def test_jetstream_tells_where_it_keeps_its_streams(tmp_path: Path) -> None:
    with Launched(OURS, [*LOCAL, "-js", "-sd", "store"], tmp_path) as server:
        server.read_until(READY)
        texts = server.texts()
        server.signal(signal.SIGTERM)
        assert server.end() == 0
    assert "Starting JetStream" in texts
    assert any('Store Directory: "store/jetstream"' in text for text in texts)
    assert "JetStream Shutdown" in server.texts()
    assert verify(["store"], tmp_path) == 0


def verify(arguments: list[str], directory: Path) -> int:
    command = [executable(OURS).replace("nats-server-py", "jetstream-py"), "verify", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, check=False).returncode


def test_verify_says_when_there_is_nothing_to_check(tmp_path: Path) -> None:
    assert verify(["."], tmp_path) == 2
    assert verify([], tmp_path) == 2


def test_verify_and_server_refuse_a_file_that_was_cut(tmp_path: Path) -> None:
    store = tmp_path / "jetstream"
    made = Store(str(store), lambda action: None)
    made.create(b"", False).append(b"s", b"", bytes(200_000), 1)
    made.close()
    os.truncate(store / "data.mdb", 50_000)
    command = [executable(OURS).replace("nats-server-py", "jetstream-py"), "verify", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "it was cut, its last" in done.stderr
    with Launched(OURS, ["-p", "-1", "-js", "-sd", "."], tmp_path) as server:
        assert server.end() == 1
    assert any("it was cut, its last" in text for text in server.texts())


def test_varz_tells_of_jetstream(start_server: StartServer) -> None:
    server = start_server(OURS, flags=["-m", "-1", "-js", "-sd", "store"])
    part = server.monitor("/varz")["jetstream"]
    assert part["config"]["sync_always"] is True
    assert part["stats"]["storage"] == 0
    assert server.monitor("/healthz") == {"status": "ok"}


def test_starting_imports_nothing_heavy() -> None:
    """A server that is started for each of a thousand tests has no time to spare."""
    script = """if True:
        import sys, msgspec, uvloop
        known = set(sys.modules)
        import jetstream_py.app, jetstream_py.cli.serve
        print(*(set(sys.modules) - known))
    """
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    others = {name for name in done.stdout.split() if not name.startswith("jetstream_py")}
    assert {name.strip("_") for name in others} <= LIGHT
