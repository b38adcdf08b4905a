"""The same reloads on nats-server: its log names what ours does."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.config.corpus import write_files
from tests.config.helper import ORACLE
from tests.config.test_reload import BASE, REFUSED, RELOADED

_LINE = re.compile(r"\[\d+\] \S+ \S+ \[(INF|ERR)\] (.*)")
# Their log goes elsewhere, or a port that has to be the same before and after is not free.
_ELSEWHERE = ("log_file", "websocket")
CHANGES = [case for case in RELOADED if not any(word in case[1] for word in _ELSEWHERE)]
# There the old port is the one that the system has chosen, and chance decides between `listen` and `host`.
FIXED = [case for case in REFUSED if not case[1].startswith(("Port: ", "Host: "))]


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)


def reload(before: str, after: str) -> list[str]:
    """What the oracle's log says about a reload."""
    Path("server.conf").write_text(before)
    argv = [str(ORACLE), "-c", "server.conf", "-sd", "store"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            lines = _log(server.stderr)
            assert any("Server is ready" in line for line in lines)
            Path("server.conf").write_text(after)
            server.send_signal(signal.SIGHUP)
            return list(_until_done(lines))
        finally:
            server.kill()


def _log(stream: Iterable[str]) -> Iterator[str]:
    for line in stream:
        if match := _LINE.match(line):
            yield match[2]


def _until_done(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith("Reloaded server configuration"):
            return
        if line.startswith("Reloaded: "):
            yield line.removeprefix("Reloaded: ")
        elif line.startswith("Failed to reload server configuration: "):
            yield line.removeprefix("Failed to reload server configuration: ")
            return


@pytest.mark.parametrize(("before", "after", "names"), CHANGES)
def test_names_of_changes(before: str, after: str, names: list[str]) -> None:
    assert reload(BASE + before, BASE + after) == names


@pytest.mark.parametrize(("text", "message"), FIXED)
def test_what_cannot_change(text: str, message: str) -> None:
    assert reload(BASE, BASE + text) == [f"config reload not supported for {message}"]
