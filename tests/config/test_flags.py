"""Flags: what they set, that they win over the file, and the usage."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from jetstream_py.config import UsageError, parse_args, usage
from jetstream_py.config.account_options import User
from jetstream_py.config.flag_table import FLAGS
from jetstream_py.config.reload import get
from tests.config.helper import ORACLE
from tests.support.certs import Authority

ALICE = (User("alice", "secret"),)  # type: ignore[arg-type]

SET: list[tuple[list[str], str, object]] = [
    (["-a", "::1"], "host", "::1"),
    (["--addr=127.0.0.1"], "host", "127.0.0.1"),
    (["-net", "::"], "host", "::"),
    (["-p", "-1"], "port", 0),
    (["--port=0"], "port", 4222),
    (["-p", "0x10"], "port", 16),
    (["-p", "017"], "port", 15),
    (["-p", "1_000"], "port", 1000),
    (["-p", "1", "-p", "2"], "port", 2),
    (["-n", "x"], "server_name", "x"),
    (["--server_name=x"], "server_name", "x"),
    (["-m", "8222"], "http_port", 8222),
    (["--http_port", "-1"], "http_port", 0),
    (["--https_port", "0"], "https_port", None),
    (["-js"], "jetstream.enabled", True),
    (["-js=false"], "jetstream.enabled", False),
    (["-sd=dir"], "jetstream.store_dir", "dir"),
    (["-sd", "dir"], "jetstream.enabled", False),
    (["-P", "x.pid"], "pid_file", "x.pid"),
    (["--pid="], "pid_file", ""),
    (["-l", "x.log"], "log_file", "x.log"),
    (["-T=false"], "logtime", False),
    (["--logtime_utc"], "logtime_utc", True),
    (["-s"], "syslog", True),
    (["-r", "udp://x:1"], "remote_syslog", "udp://x:1"),
    (["-D"], "debug", True),
    (["-V"], "trace", True),
    (["-VV"], "trace_verbose", True),
    (["-VV"], "trace", True),
    (["-DV"], "debug", True),
    (["-DV"], "trace", True),
    (["-DVV"], "trace_verbose", True),
    (["--log_size_limit", "10"], "logfile_size_limit", 10),
    (["--max_traced_msg_len", "10"], "max_traced_msg_len", 10),
    (["--client_advertise", "x:1"], "client_advertise", "x:1"),
    (["--ports_file_dir", "x"], "ports_file_dir", "x"),
    (["--auth", "t"], "authorization.token", "t"),
    (["--user", "alice", "--pass", "secret"], "authorization.users", ALICE),
    (["--user", "alice", "--pass", "secret", "--auth", "t"], "authorization.users", ()),
    (["--pass", "secret"], "authorization.required", False),
    (["--tls=false"], "port", 4222),
    (["-p", "1", "--"], "port", 1),
]


@pytest.mark.parametrize(("argv", "field", "expected"), SET, ids=str)
def test_a_flag_sets_its_option(argv: list[str], field: str, expected: object) -> None:
    assert get(parse_args(argv, {}).options, field) == expected


@pytest.mark.behaviour("CONF-013")
def test_flags_beat_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.conf"
    file.write_text(
        "port: 1111\nserver_name: file\ndebug: true\njetstream { store_dir: x }\n"
        "authorization { user: bob, password: secret }"
    )
    argv = ["-p", "2222", "-c", str(file), "-D=false", "-sd", "y", "--user", "alice", "-js=false"]
    options = parse_args(argv, {}).options
    assert (options.port, options.server_name, options.debug) == (2222, "file", False)
    assert (options.jetstream.enabled, options.jetstream.store_dir) == (False, "y")
    assert options.authorization.users == ALICE


def test_users_of_the_file_beat_a_single_user(tmp_path: Path) -> None:
    file = tmp_path / "server.conf"
    file.write_text("authorization { users [{user: alice, password: secret}] }")
    argv = ["-c", str(file), "--user", "bob", "--pass", "x", "--auth", "t"]
    authorization = parse_args(argv, {}).options.authorization
    assert authorization.users == ALICE
    assert authorization.token == "t"


@pytest.mark.parametrize(
    ("argv", "action"),
    [
        ([], "serve"),
        (["-v"], "version"),
        (["--version=true"], "version"),
        (["-v=false"], "serve"),
        (["version"], "version"),
        (["-h"], "help"),
        (["help"], "help"),
        (["--help_tls"], "help_tls"),
        (["-sl", "reload"], "signal"),
    ],
)
def test_actions(argv: list[str], action: str) -> None:
    assert parse_args(argv, {}).action == action


@pytest.mark.parametrize(
    ("word", "command", "target"),
    [("reload", "reload", ""), ("ldm=12", "ldm", "12"), ("stop=/run/x.pid", "stop", "/run/x.pid")],
)
def test_signal(word: str, command: str, target: str) -> None:
    invocation = parse_args(["--signal", word], {})
    assert (invocation.signal, invocation.signal_target) == (command, target)


def test_flags_of_tls(tmp_path: Path) -> None:
    pair = Authority(tmp_path).server()
    files = ["--tlscert", str(pair.cert), "--tlskey", str(pair.key)]
    tls = parse_args(files, {}).options.tls
    assert tls is not None
    assert (tls.cert_file, tls.key_file, tls.verify) == (str(pair.cert), str(pair.key), False)
    tls = parse_args([*files, "--tlsverify", "--tlscacert", str(pair.cert)], {}).options.tls
    assert tls is not None
    assert (tls.ca_file, tls.verify) == (str(pair.cert), True)


def test_tls_can_be_turned_off() -> None:
    assert parse_args(["--tls=false", "--tlscert", "x"], {}).options.tls is None


@pytest.mark.parametrize(
    "argv",
    [
        ["--routes", "nats://a:1"],
        ["--cluster", "nats://a:1"],
        ["--cluster_name", "x"],
        ["--cluster_listen", "x"],
        ["--cluster_advertise", "x"],
        ["--no_advertise"],
        ["--connect_retries", "3"],
        ["--profile", "6060"],
    ],
    ids=str,
)
def test_flags_without_effect_warn(argv: list[str]) -> None:
    [warning] = parse_args(argv, {}).warnings
    assert warning.startswith(f"the flag {argv[0]} has no effect here: ")


def test_usage_is_that_of_the_oracle() -> None:
    result = subprocess.run([ORACLE, "--help"], capture_output=True, text=True, check=True)
    assert usage("nats-server") == result.stdout


def test_usage_names_the_program_and_every_flag() -> None:
    text = usage("prog")
    assert "Usage: prog [options]" in text
    assert "nats-server" not in text
    for name in FLAGS:
        assert re.search(rf"-{name}\b", text)


def test_usage_errors_end_in_success() -> None:
    with pytest.raises(UsageError) as caught:
        parse_args(["--nope"], {})
    assert str(caught.value) == "flag provided but not defined: -nope"
    assert caught.value.exit_status == 0
