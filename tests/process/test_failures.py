"""A server that cannot start ends with status 1 and says why; ours adds what to do about it."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server import OURS, Kind, run

LOCAL = ("-a", "127.0.0.1")


@pytest.fixture
def taken() -> Iterator[str]:
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield str(listener.getsockname()[1])


def fatal(kind: Kind, directory: Path, *flags: str) -> str:
    """The reason that the server ended with; the hint of ours is checked for and left out."""
    done = run(kind, *flags, directory=directory)
    assert (done.returncode, done.stdout) == (1, "")
    found = re.findall(r"\[FTL\] (.*)\n", done.stderr)
    assert len(found) == (2 if kind == OURS else 1), done.stderr
    return str(found[0])


def test_a_taken_port(kind: Kind, tmp_path: Path, taken: str) -> None:
    where = f"127.0.0.1:{taken}"
    assert fatal(kind, tmp_path, *LOCAL, "-p", taken) == (
        f'Error listening on port: {where}, "listen tcp {where}: bind: address already in use"'
    )


def test_a_taken_monitoring_port(kind: Kind, tmp_path: Path, taken: str) -> None:
    assert fatal(kind, tmp_path, *LOCAL, "-p", "-1", "-m", taken) == (
        "Can't start monitoring: can't listen to the monitor port: "
        f"listen tcp 127.0.0.1:{taken}: bind: address already in use"
    )


def test_an_address_of_somebody_else(kind: Kind, tmp_path: Path) -> None:
    where = "192.0.2.77:14222"
    assert fatal(kind, tmp_path, "-a", "192.0.2.77", "-p", "14222") == (
        f'Error listening on port: {where}, "listen tcp {where}: '
        'bind: cannot assign requested address"'
    )


def test_a_name_that_nobody_knows(kind: Kind, tmp_path: Path) -> None:
    text = fatal(kind, tmp_path, "-a", "nosuch.invalid", "-p", "14222")
    assert text.startswith(
        'Error listening on port: nosuch.invalid:14222, "listen tcp: lookup nosuch.invalid'
    )


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (("-p", "99999"), 'Error listening on port: 127.0.0.1:99999, "'),
        (("-p", "-1", "-m", "99999"), "Can't start monitoring: can't listen to the monitor port: "),
    ],
)
def test_a_number_that_is_no_port(
    kind: Kind, tmp_path: Path, flags: tuple[str, ...], what: str
) -> None:
    done = run(kind, *LOCAL, *flags, directory=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{what}listen tcp: address 99999: invalid port" in done.stderr


def test_a_pid_file_in_no_directory(kind: Kind, tmp_path: Path) -> None:
    assert fatal(kind, tmp_path, *LOCAL, "-p", "-1", "-P", "no/pid") == (
        "Could not write pidfile: open no/pid: no such file or directory"
    )


@pytest.mark.parametrize(
    ("path", "reason"), [("no/log", "no such file or directory"), (".", "is a directory")]
)
def test_a_log_file_that_cannot_be_opened(
    kind: Kind, tmp_path: Path, path: str, reason: str
) -> None:
    done = run(kind, *LOCAL, "-p", "-1", "-l", path, directory=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        rf"\d{{4}}/\d\d/\d\d \d\d:\d\d:\d\d error opening file: open {re.escape(path)}: {reason}\n",
        done.stderr,
    )


def test_a_ports_directory_that_is_not_there(tmp_path: Path) -> None:
    # nats-server only logs an error and serves on; whoever waits for the file waits for ever.
    text = fatal(OURS, tmp_path, *LOCAL, "-p", "-1", "--ports_file_dir", "no")
    assert re.fullmatch(
        r"Error writing ports file \((no/nats-server_\d+\.ports)\): "
        r"open \1: no such file or directory",
        text,
    )


def test_a_store_that_is_a_file(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    assert fatal(kind, tmp_path, *LOCAL, "-p", "-1", "-js", "-sd", "store") == (
        "Can't start JetStream: storage directory is not a directory"
    )


def test_a_store_that_cannot_be_created(kind: Kind, tmp_path: Path) -> None:
    text = fatal(kind, tmp_path, *LOCAL, "-p", "-1", "-js", "-sd", "/proc/store")
    assert text.startswith(
        "Can't start JetStream: could not create storage directory - mkdir /proc"
    )


def test_nothing_stays_behind(tmp_path: Path, taken: str) -> None:
    fatal(OURS, tmp_path, *LOCAL, "-p", taken, "-m", "-1", "--ports_file_dir", ".")
    assert list(tmp_path.iterdir()) == []
