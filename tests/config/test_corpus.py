"""Accounts, users, TLS and the rest: both servers judge the same files alike."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.config.corpus import samples, write_files
from tests.config.helper import ORACLE, Verdict, oracle, ours

AREAS = ("users", "accounts", "exchange", "global", "operators", "tls", "websocket")
CHECKED = {name: text for area in AREAS for name, text in samples(area).items()}
STARTED = samples("starts")
# Go walks through maps in an order of its own; an answer of ours has to be one of nats-server's.
_TRIES = 40


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("corpus")
    write_files(directory)
    return directory


@pytest.mark.behaviour("AUTH-029", "AUTH-033", "AUTH-048", "CONF-008")
@pytest.mark.parametrize("name", CHECKED)
def test_verdict_of_a_check(name: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(directory)
    Path("server.conf").write_text(CHECKED[name])
    argv = ["-t", "-c", "server.conf"]
    verdict = ours(argv, {})
    answers = set()
    for _ in range(_TRIES):
        answer = oracle(argv, directory, {})
        if answer == verdict:
            return
        answers.add((answer.status, *answer.lines))
    pytest.fail(f"{CHECKED[name]}\nours: {verdict}\nnats-server: {answers}")


def started(argv: Sequence[str], directory: Path) -> Verdict:
    """The last words of a nats-server that does not start."""
    result = subprocess.run(
        [ORACLE, *argv], capture_output=True, cwd=directory, env={}, timeout=30, check=False
    )
    lines = result.stderr.decode().splitlines()
    last = [line.partition("[FTL] ")[2] for line in lines if "[FTL] " in line]
    words = [re.sub("^nats-server: ", "", line) for line in lines if line]
    return Verdict(result.returncode, sorted(last or words))


@pytest.mark.behaviour("WS-017")
@pytest.mark.parametrize("name", STARTED)
def test_verdict_of_a_start(name: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(directory)
    Path("server.conf").write_text("port: -1\n" + STARTED[name])
    argv = ["-c", "server.conf"]
    assert ours(argv, {}) == started(argv, directory)


FLAGS = [
    "--tls",
    "--tlsverify",
    "--tlscert cert.pem",
    "--tlskey key.pem",
    "--tlscacert ca.pem",
    "--tls --tlscert cert.pem",
    "--tls --tlskey key.pem",
    "--tls --tlscert nope.pem --tlskey key.pem",
    "--tlscert cert.pem --tlskey key2.pem",
    "--tlscert cert.pem --tlskey key.pem --tlscacert nope.pem --tlsverify",
    "-ms 18443",
    "-m 18222 --https_port 18443 --tls --tlscert cert.pem --tlskey key.pem",
]


@pytest.mark.parametrize("line", FLAGS)
def test_verdict_of_flags(line: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(directory)
    argv = ["-p", "-1", *line.split()]
    assert ours(argv, {}) == started(argv, directory)
