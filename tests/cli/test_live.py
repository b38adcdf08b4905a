"""Verbs that wait for others: a subscriber and a service in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from tests.cli.shell import Shell
from tests.docs.snippets import ROOT
from tests.support.server import Server

MAIN = "import sys; from jetstream_py.cli import main; main()"


@contextmanager
def running(*arguments: str, ready: str) -> Iterator[subprocess.Popen[str]]:
    """A command that says when it listens."""
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": "/nonexistent"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert cast(IO[str], process.stderr).readline().startswith(ready)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_sub_shows_what_comes(ours: Server, tmp_path: Path) -> None:
    shell = Shell(ours.url)
    dump = tmp_path / "dump"
    line = ["sub", "news.*", "--count", "2", "--dump", str(dump), "-s", ours.url]
    with running(*line, ready="Subscribing on news.*") as subscriber:
        shell.ok("pub", "news.a", "first", "--reply", "here", "-H", "K:1", "-H", "K:2")
        shell.ok("pub", "news.b", "second")
        out, _ = subscriber.communicate(timeout=20)
    assert out == (
        "[#1] Received on news.a with reply here\nK: 1\nK: 2\n\nfirst\n\n"
        "[#2] Received on news.b\nsecond\n\n"
    )
    first = json.loads((dump / "1.json").read_text())
    assert first == {
        "subject": "news.a",
        "reply": "here",
        "headers": {"K": ["1", "2"]},
        "data": "first",
    }


def test_reply_runs_a_command_without_a_shell(ours: Server) -> None:
    shell = Shell(ours.url)
    command = "printf %s/%s {{1}} {{Request}}"
    line = ["reply", "calc.*", "--command", command, "--count", "2", "-s", ours.url]
    with running(*line, ready="Listening on calc.*") as service:
        assert shell.ok("request", "calc.a", "b; echo c $(id)", "--raw") == "a/b; echo c $(id)\n"
        answer = json.loads(shell.ok("request", "calc.x", "", "--json"))
        assert answer["data"] == "x/"
        assert service.wait(20) == 0
