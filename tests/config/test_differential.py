"""The same files, the same words: nats-server and this package judge configurations alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.helper import oracle, ours
from tests.config.samples import ENVIRONMENT, FILES, SAMPLES


@pytest.mark.behaviour("CONF-001", "CONF-003", "CONF-004", "CONF-005", "CONF-006", "CONF-008")
@pytest.mark.behaviour("CONF-009", "CONF-010", "CONF-011", "CONF-012", "CONF-015")
@pytest.mark.parametrize("name", SAMPLES)
def test_verdict_of_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file, text in {**FILES, "server.conf": SAMPLES[name]}.items():
        Path(file).write_text(text)
    argv = ["-t", "-c", "server.conf"]
    assert ours(argv, ENVIRONMENT) == oracle(argv, tmp_path, ENVIRONMENT)


REFUSED_AT_START = {
    "payload_above_pending": "max_payload: 1048576\nmax_pending: 200000",
    "grace_above_duration": 'lame_duck_grace_period: "2m"\nlame_duck_duration: "30s"',
    "no_users_for_no_auth_user": "no_auth_user: a\nauthorization { user: a, pass: b }",
    "no_auth_user_unknown": "no_auth_user: b\nauthorization { users [{user: a, pass: b}] }",
    "system_account_unknown": "system_account: X",
}


@pytest.mark.parametrize("name", REFUSED_AT_START)
def test_verdict_of_a_start(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("server.conf").write_text("port: -1\n" + REFUSED_AT_START[name])
    argv = ["-c", "server.conf"]
    assert ours(argv, {}) == oracle(argv, tmp_path, {})


FLAGS = [
    ["-p", "abc"],
    ["-p=abc"],
    ["--port"],
    ["-p", "99999999999999999999"],
    ["--bogus"],
    ["--bogus=1"],
    ["---p"],
    ["-=a"],
    ["-js=foo"],
    ["--no_advertise=maybe"],
    ["--profile", "x"],
    ["foo"],
    ["-p", "-1", "--", "foo"],
    ["-"],
    ["version"],
    ["-D", "HELP"],
    ["-v"],
    ["--help"],
    ["-t"],
    ["-t", "-c", "nope.conf"],
    ["-c", "nope.conf", "-c", "."],
    ["-n", "a b"],
    ["-sl", "foo=1"],  # always with a target: without one the oracle signals what it finds
    ["--signal", "=1"],
    ["--signal", "reload=1=2"],
    ["-p", "-1", "--server_name=a b"],
]


@pytest.mark.parametrize("argv", FLAGS, ids=" ".join)
def test_verdict_of_flags(argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert ours(argv, {}) == oracle(argv, tmp_path, {})
