"""Flags that print something and end, the commands of `jetstream-py`, and `--signal`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jetstream_py.cli.processes import SignalError, is_server, only_server, running_servers
from jetstream_py.version import NATS_VERSION, __version__
from tests.process.launch import READY, Launched
from tests.support.server import ORACLE, OURS, Kind, run

LOCAL = ("-a", "127.0.0.1", "-p", "-1")


def jetstream_py(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("jetstream-py")
    return subprocess.run([command, *arguments], capture_output=True, text=True, timeout=20)


@pytest.mark.parametrize("flag", ["-v", "--version", "-version"])
def test_version(kind: Kind, tmp_path: Path, flag: str) -> None:
    done = run(kind, flag, directory=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"nats-server: v{NATS_VERSION}\n", "")


@pytest.mark.parametrize("arguments", [("-h",), ("--help",), ("-zzz",), ("foo",), ("-p",), ("-t",)])
def test_the_answer_is_that_of_nats_server(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ours = run(OURS, *arguments, directory=tmp_path)
    theirs = run(ORACLE, *arguments, directory=tmp_path)
    assert ours.returncode == theirs.returncode
    assert ours.stderr == theirs.stderr
    assert ours.stdout.splitlines()[:6] == theirs.stdout.splitlines()[:6]


def test_help_for_tls(kind: Kind, tmp_path: Path) -> None:
    done = run(kind, "--help_tls", directory=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "tls" in done.stdout.lower()


@pytest.mark.behaviour("CORE-068")
def test_check_of_a_file_that_is_not_there(kind: Kind, tmp_path: Path) -> None:
    done = run(kind, "-t", "-c", "no.conf", directory=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "nats-server: open no.conf: no such file or directory\n"


@pytest.mark.parametrize("flag", ["--version", "-v", "version"])
def test_jetstream_py_tells_both_versions(flag: str) -> None:
    done = jetstream_py(flag)
    expected = f"jetstream-py {__version__} (NATS {NATS_VERSION})\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",), ("help",)])
def test_jetstream_py_help(arguments: tuple[str, ...]) -> None:
    done = jetstream_py(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n  serve " in done.stdout


def test_jetstream_py_knows_its_commands() -> None:
    done = jetstream_py("fly")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("jetstream-py: error: No such command 'fly'.\n")


def test_jetstream_py_serve_takes_the_flags(tmp_path: Path) -> None:
    done = jetstream_py("serve", "-t", "-c", str(tmp_path / "no.conf"))
    assert done.returncode == 1
    assert done.stderr.startswith("nats-server: open ")
    assert jetstream_py("serve", "-v").stdout == f"nats-server: v{NATS_VERSION}\n"


class TestSignal:
    @pytest.mark.parametrize("by_file", [False, True])
    def test_reaches_its_server(self, kind: Kind, tmp_path: Path, by_file: bool) -> None:
        with Launched(kind, [*LOCAL, "-P", "pid"], tmp_path) as server:
            server.read_until(READY)
            target = str(tmp_path / "pid") if by_file else str(server.pid)
            for name, trapped in (
                ("reopen", "user defined signal 1"),
                ("reload", "hangup"),
                ("quit", "interrupt"),
            ):
                done = run(kind, "--signal", f"{name}={target}", directory=tmp_path)
                assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
                server.read_until(f'Trapped "{trapped}" signal')
            assert server.end() == 0

    @pytest.mark.parametrize(("name", "status"), [("stop", -9), ("term", 0), ("ldm", 0)])
    def test_ends_its_server(self, kind: Kind, tmp_path: Path, name: str, status: int) -> None:
        with Launched(kind, LOCAL, tmp_path) as server:
            server.read_until(READY)
            assert run(kind, "-sl", f"{name}={server.pid}", directory=tmp_path).returncode == 0
            assert server.end() == status

    @pytest.mark.parametrize(
        "what", ["fly=1", "stop=x", "stop=1x", "=5", "stop=./no", "stop=9999999"]
    )
    def test_complaints_are_those_of_nats_server(self, tmp_path: Path, what: str) -> None:
        ours = run(OURS, "--signal", what, directory=tmp_path)
        theirs = run(ORACLE, "--signal", what, directory=tmp_path)
        assert ours.returncode == theirs.returncode == 1
        assert ours.stderr == theirs.stderr

    @pytest.mark.parametrize(
        ("command", "server"),
        [
            ("python /x/bin/nats-server-py -p 4222", True),
            ("/x/bin/nats-server-py", True),
            ("python /x/bin/jetstream-py serve -js", True),
            ("python /x/bin/jetstream-py --help", False),
            ("python /x/bin/nats-server-py --signal stop", False),
            ("python /x/bin/nats-server-py -sl=reload", False),
            ("vim nats-server-python.txt", False),
            ("sh -c nats-server-py", False),
            ("", False),
        ],
    )
    def test_our_servers_are_known_by_their_command(self, command: str, server: bool) -> None:
        assert is_server(command.split()) is server

    def test_the_only_server_needs_no_name(self, tmp_path: Path) -> None:
        commands = {1: b"init\0", 20: b"python\0/x/nats-server-py\0-p\0-1\0", 21: b"sh\0"}
        for pid, command in commands.items():
            (tmp_path / str(pid)).mkdir()
            (tmp_path / str(pid) / "cmdline").write_bytes(command)
        (tmp_path / "30").mkdir()  # ended while we looked
        (tmp_path / "self").mkdir()
        assert running_servers(str(tmp_path)) == [20]
        assert only_server(str(tmp_path)) == 20
        (tmp_path / "21" / "cmdline").write_bytes(b"python\0/x/jetstream-py\0serve\0")
        with pytest.raises(SignalError, match=r"^multiple nats-server processes running:\n20\n21$"):
            only_server(str(tmp_path))
        (tmp_path / "20" / "cmdline").write_bytes(b"")
        (tmp_path / "21" / "cmdline").write_bytes(b"")
        with pytest.raises(SignalError, match=r"^no nats-server processes running$"):
            only_server(str(tmp_path))
        with pytest.raises(SignalError, match="give a pid or pid file"):
            only_server(str(tmp_path / "none"))
