"""What a file sets, what it warns about, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetstream_py.config import ConfigError, parse_args
from jetstream_py.config.account_options import User
from jetstream_py.config.options import Options
from jetstream_py.config.reload import get
from tests.config.helper import load


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


SET: list[tuple[str, str, object]] = [
    ("listen: 4333", "port", 4333),
    ("listen: ':4333'", "host", "0.0.0.0"),
    ("listen: '[::1]:4333'", "host", "::1"),
    ("listen: 'localhost:4333'", "host", "localhost"),
    ("port: -1", "port", 0),
    ("port: 0", "port", 4222),
    ("host: '::'", "host", "::"),
    ("net: localhost", "host", "localhost"),
    ("http: 8222", "http_port", 8222),
    ("http: '127.0.0.1:8222'", "http_host", "127.0.0.1"),
    ("http_port: -1", "http_port", 0),
    ("monitor_port: 0", "http_port", None),
    ("server_tags: ['A b', ' c ', 'a B']", "server_tags", ["a b", "c"]),
    ("server_tags: a", "server_tags", ["a"]),
    ("server_metadata { A: b }", "server_metadata", {"A": "b"}),
    ("feature_flags { x: on }", "feature_flags", {"x": True}),
    ("max_payload: 2mb", "max_payload", 2 * 1024 * 1024),
    ("max_payload: 0", "max_payload", 1024 * 1024),
    ("max_payload: -1", "max_payload", -1),
    ("max_conn: -1", "max_connections", -1),
    ("max_subs: 7", "max_subscriptions", 7),
    ("ping_interval: '1m30s'", "ping_interval", 90.0),
    ("write_deadline: '250ms'", "write_deadline", 0.25),
    ("write_timeout: RETRY", "write_timeout", "retry"),
    ("trace_verbose: true", "trace", True),
    ("trace_headers: true", "trace", True),
    ("logfile: x.log", "log_file", "x.log"),
    ("authorization { token: t }", "authorization.token", "t"),
    ("authorization { timeout: '1500ms' }", "authorization.timeout", 1.5),
    ("authorization { user: a, pass: b }", "authorization.users", (User("a", "b"),)),  # type: ignore[arg-type]
    ("authorization { pass: b }", "authorization.required", False),
    ("jetstream: true", "jetstream.enabled", True),
    ("jetstream: disabled", "jetstream.enabled", False),
    ("jetstream { store_dir: x }", "jetstream.enabled", True),
    ("jetstream { enabled: false }", "jetstream.enabled", False),
    ("jetstream { storedir: x }", "jetstream.store_dir", "x"),
    ("store_dir: x", "jetstream.store_dir", "x"),
    (
        "jetstream { max_mem: 1g, max_file: '1G', limits { batch { timeout: '1s' } } }",
        "jetstream.settings",
        {
            "max_memory_store": 10**9,
            "max_file_store": 2**30,
            "limits": {"batch": {"timeout": 1.0}},
        },
    ),
]


@pytest.mark.behaviour("CONF-002", "CONF-003", "CONF-016")
@pytest.mark.parametrize(("text", "field", "expected"), SET)
def test_a_key_sets_its_option(text: str, field: str, expected: object) -> None:
    assert get(load(text).options, field) == expected


def test_file_and_digest_are_kept() -> None:
    options = load("port: 4222").options
    assert options.config_file == "server.conf"
    assert options.config_digest == (
        "sha256:797533ebd0dfba7d34a0f9337ecf147e442871f48ddfd07ed751575a5737267e"
    )


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("proxies { }", "proxies"),
        ("proxy_protocol: true", "proxy_protocol"),
        ("resolver_tls { }", "resolver_tls"),
        ("authorization { proxy_required: true }", "proxy_required"),
        ("authorization { users [{user: a, proxy_required: true}] }", "proxy_required"),
        ("tls { ocsp_peer: true }", "tls.ocsp_peer"),
        ("jetstream { key: x }", "jetstream.key"),
    ],
)
def test_what_protects_a_server_is_not_ignored(text: str, key: str) -> None:
    with pytest.raises(ConfigError, match=rf'^server\.conf:1:\d+: "{key}" is not supported'):
        load(text)


@pytest.mark.behaviour("CONF-007")
@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_hashes_are_no_variables(quote: str) -> None:
    hashed = f"{quote}$2a$11$abc{quote}"
    assert load(f"authorization {{ token: {hashed} }}").options.authorization.token == "$2a$11$abc"
    [user] = load(f"authorization {{ user: a, pass: {hashed} }}").options.authorization.users
    assert user.password == "$2a$11$abc"


def test_keys_without_effect_warn() -> None:
    warnings = load("port: 1\ncluster { name: x }\nprof_port: 2").warnings
    assert warnings == [
        'server.conf:2:1: "cluster" has no effect here: this server runs on its own',
        'server.conf:3:1: "prof_port" has no effect here: there is no Go profiler',
    ]


def test_password_without_user_warns() -> None:
    assert "everybody may connect" in load("authorization { pass: b }").warnings[0]


def test_outdated_seconds_warn_a_server_and_fail_a_check() -> None:
    invocation = load("ping_interval: 7")
    assert invocation.options.ping_interval == 7.0
    text = 'server.conf:1:0: invalid use of field "ping_interval": '
    text += "ping_interval should be converted to a duration"
    assert invocation.warnings == [text]
    with pytest.raises(ConfigError) as caught:
        parse_args(["-t", "-c", "server.conf"], {})
    assert str(caught.value) == text


def test_a_check_tells_what_would_stop_the_server() -> None:
    Path("server.conf").write_text("max_payload: 2mb\nmax_pending: 1mb")
    invocation = parse_args(["-t", "-c", "server.conf"], {})
    assert invocation.action == "check"
    assert invocation.warnings == [
        "a server with this configuration would not start: "
        "max_payload (2097152) cannot be higher than max_pending (1048576)"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("port: 70000", 'Error listening on port: 0.0.0.0:70000, "listen tcp: address 70000: '),
        ("http: 70000", "Can't start monitoring: can't listen to the monitor port: "),
        ("client_advertise: ':::'", "Error setting server INFO with ClientAdvertise value of :::"),
        ("max_pending: -1", "max_pending (-1) cannot be negative"),
        ("ping_interval: '-5s'", "ping_interval (-5s) cannot be negative"),
    ],
)
def test_what_cannot_work_does_not_start(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert str(caught.value).startswith(message)


@pytest.mark.behaviour("CONF-008")
def test_all_mistakes_are_named_in_their_order() -> None:
    with pytest.raises(ConfigError) as caught:
        load("zzz: 1\nport: x\nserver_name: 'a b'\nyyy { }")
    assert str(caught.value).splitlines() == [
        'server.conf:1:0: unknown field "zzz"',
        'server.conf:2:1: "port" must be an integer, got a string',
        "server.conf:3:1: server name cannot contain spaces",
        'server.conf:4:1: unknown field "yyy"',
    ]


@pytest.mark.behaviour("CONF-005")
def test_a_used_variable_may_have_any_name() -> None:
    assert load("zzz: 4333\nport: $zzz").options.port == 4333


def test_secrets_do_not_show() -> None:
    options = load("authorization { users [{user: a, password: hidden}] }").options
    assert "hidden" not in repr(options)
    assert "hidden" not in repr(load("authorization { token: hidden }"))


def test_too_large_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jetstream_py.limits.CONFIG_FILE_SIZE", 10)
    with pytest.raises(ConfigError, match="larger than 10 bytes"):
        load("port: 4222\n" * 2)


def test_include_is_relative_to_the_including_file() -> None:
    Path("sub").mkdir()
    Path("sub/a.conf").write_text("include b.conf")
    Path("sub/b.conf").write_text("zzz: 1")
    with pytest.raises(ConfigError, match=r"^sub/b\.conf:1:0: unknown field"):
        load("include 'sub/a.conf'")


def test_defaults() -> None:
    assert parse_args([], {}).options == Options()


def test_two_store_directories_are_refused() -> None:
    """nats-server complains about either of the two places, as its map happens to be ordered."""
    with pytest.raises(ConfigError, match="Duplicate 'store_dir' configuration"):
        load("jetstream { store_dir: a }\nstore_dir: b")
