"""The log without a server: what becomes of a line."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest

from jetstream_py.log import Log, LogError, LogSettings
from jetstream_py.log.files import is_backup

NOW = 1_794_813_702_625_835_999  # 2026/11/16 07:21:42 UTC


class Ticking:
    """A clock that moves a microsecond at each look."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        self.now += 1_000
        return self.now


def test_levels(tmp_path: Path) -> None:
    log = Log(LogSettings(file=str(tmp_path / "log"), logtime=False, debug=True, trace=True))
    for write in (log.info, log.warn, log.error, log.fatal, log.debug, log.trace):
        write("x")
    log.close()
    text = (tmp_path / "log").read_text()
    assert text == "".join(
        f"[{os.getpid()}] [{label}] x\n" for label in ("INF", "WRN", "ERR", "FTL", "DBG", "TRC")
    )


def test_debug_and_trace_are_off_until_asked_for(tmp_path: Path) -> None:
    settings = LogSettings(file=str(tmp_path / "log"))
    log = Log(settings)
    log.debug("x")
    log.trace("x")
    assert (tmp_path / "log").read_text() == ""
    assert not log.debugging
    assert not log.tracing


def test_time_in_utc(tmp_path: Path) -> None:
    log = Log(LogSettings(file=str(tmp_path / "log"), logtime_utc=True), lambda: NOW)
    log.info("x")
    log.info("y")
    head = f"[{os.getpid()}] 2026/11/16 07:21:42.625835 [INF] "
    assert (tmp_path / "log").read_text() == f"{head}x\n{head}y\n"


def test_text_that_is_no_text(tmp_path: Path) -> None:
    log = Log(LogSettings(file=str(tmp_path / "log"), logtime=False))
    log.info("a\udc80b\x00é")
    assert (tmp_path / "log").read_bytes().endswith("[INF] a\\udc80b\x00é\n".encode())


def test_a_limit_shorter_than_a_line(tmp_path: Path) -> None:
    log = Log(LogSettings(file=str(tmp_path / "log"), size_limit=10, max_num=4), Ticking())
    for number in range(20):
        log.info(f"line {number}")
    assert len(list(tmp_path.iterdir())) == 4
    newest = sorted(tmp_path.glob("log.*"))[-1]
    assert newest.read_text().endswith("line 19\n")


def test_a_file_that_cannot_be_rotated_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(old: str, new: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "rename", refuse)
    log = Log(LogSettings(file=str(tmp_path / "log"), size_limit=1000))
    for number in range(50):
        log.info(f"line {number}")
    text = (tmp_path / "log").read_text()
    assert text.endswith("line 49\n")
    assert 1 <= text.count("Unable to rotate the logfile") <= len(text) // 1000


def test_other_settings(tmp_path: Path) -> None:
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    log = Log(LogSettings(file=first, logtime=False))
    log.configure(LogSettings(file=second, logtime=False, debug=True))
    log.debug("x")
    with pytest.raises(LogError, match=r"error opening file: open .*: is a directory"):
        log.configure(LogSettings(file=str(tmp_path)))
    log.debug("y")
    assert Path(first).read_text() == ""
    assert Path(second).read_text().count("[DBG]") == 2


def test_a_full_disk_costs_the_line_only() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    log = Log(LogSettings(file="/dev/full"))
    log.info("x")
    log.close()
    log.info("after the end")


def test_a_syslog_socket(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as syslog:
        syslog.bind(path)
        syslog.settimeout(5)
        log = Log(LogSettings(remote_syslog=f"unix://{path}"), lambda: NOW)
        log.warn("careful")
        line = syslog.recv(4096).decode()
        assert re.fullmatch(rf"<4>2026-11-16T.* nats-server\[{os.getpid()}\]: careful\n", line)
        for number in range(1000):  # more than it holds, and nobody reads
            log.info(str(number))
    log.info("nobody there")
    log.close()


@pytest.mark.parametrize(
    ("other", "backup"),
    [
        ("log.2026.11.16.07.20.05.931197729", True),
        ("log", False),
        ("log.2026.11.16.07.20.05.93119772", False),
        ("log.2026.11.16.07.20.05.93119772x", False),
        ("other.2026.11.16.07.20.05.931197729", False),
    ],
)
def test_names_of_backups(other: str, backup: bool) -> None:
    assert is_backup("log", other) is backup
