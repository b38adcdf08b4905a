"""Reading the file again: what may change, and the words for what may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetstream_py.config import ConfigError, NotReloadable, changes, parse_args, reload_options
from jetstream_py.config.options import Authorization, JetStreamOptions, Options
from jetstream_py.config.reload import OPTIONS
from tests.config.corpus import OPERATOR, write_files
from tests.config.helper import load

BASE = 'listen: "127.0.0.1:-1"\nserver_name: x\n'
USERS = ["authorization users", "accounts"]  # named by every reload
PIN = "a8f407340dcc719864214b85ed96f98d16cbffa8f509d9fa4ca237b7bb3f9c32"
KEY = "UBAAQWTW6CG2G6ANGNKB5U2B7HRWHSGMZEZX3AQSAJOQDAUGJD46LD2E"
ACCOUNT = "ABJHLOVMPA4CI6R5KLNGOB4GSLNIY7IOUPAJC4YFNDLQVIOBYQGUWVLA"
TLS = "cert_file: cert.pem, key_file: key.pem"
# What the server started with, what it reads then, and what the log names.
RELOADED = [
    ("", "", USERS),
    ("", "debug: true", ["debug = true", *USERS]),
    ("", "trace_verbose: true", ["trace = true", "trace_verbose = true", *USERS]),
    ("", "max_payload: 1kb", [*USERS, "max_payload = 1024"]),
    ("", "max_payload: -1", [*USERS, "max_payload = -1"]),
    ("", "ping_interval: '5s'", [*USERS, "ping_interval = 5s"]),
    ("", "write_deadline: '90s'", [*USERS, "write_deadline = 1m30s"]),
    ("", "authorization { users [{user: a, pass: b}] }", USERS),
    ("", f"authorization {{ users [{{nkey: {KEY}}}] }}", ["authorization nkey users", *USERS]),
    ("", "authorization { token: t }", [*USERS, "authorization token"]),
    (
        "authorization { user: a, pass: b }",
        "authorization { user: a, pass: c }",
        [*USERS, "authorization password"],
    ),
    (
        "authorization { user: a, pass: b }",
        "authorization { token: c }",
        [*USERS, "authorization username", "authorization password", "authorization token"],
    ),
    (
        "authorization { users [{user: a, pass: b}] }",
        "authorization { user: a, pass: b }",
        [*USERS, "authorization username", "authorization password"],
    ),
    ("", "authorization { timeout: 1.5 }", [*USERS, "authorization timeout = 1.5"]),
    ("", "accounts { A { users [{user: a}] } }", USERS),
    ("mappings { a: b }", "mappings { a: c }", USERS),
    ("", "server_tags: a", [*USERS, "tags"]),
    ("", "server_metadata { a: b }", [*USERS, "metadata"]),
    ("", "log_file: x.log", [*USERS, "log_file = x.log"]),
    ("", "jetstream: true", [*USERS, "JetStream"]),
    (
        "",
        "max_connections: 5\nping_max: 3",
        ["max_connections = 5", *USERS, "ping_max = 3"],
    ),
    ("", f"tls {{ {TLS} }}", [*USERS, "authorization timeout = 3", "tls = enabled"]),
    (f"tls {{ {TLS} }}", "", [*USERS, "authorization timeout = 2", "tls = disabled"]),
    (f"tls {{ {TLS} }}", f"tls {{ {TLS} }}", USERS),
    (
        f"tls {{ {TLS} }}",
        f"tls {{ {TLS}, timeout: 5, verify: true }}",
        [*USERS, "authorization timeout = 6", "tls timeout = 5", "tls = enabled"],
    ),
    (
        f"tls {{ {TLS} }}",
        f"tls {{ {TLS}, handshake_first: auto, pinned_certs: [{PIN}] }}",
        [
            *USERS,
            "1 pinned_certs",
            "Client TLS handshake first: true",
            "Client TLS handshake first fallback delay: 50ms",
        ],
    ),
    (
        f"tls {{ {TLS}, handshake_first: '1s' }}",
        f"tls {{ {TLS} }}",
        [
            *USERS,
            "Client TLS handshake first: false",
            "Client TLS handshake first fallback delay: 0s",
        ],
    ),
    (
        f"websocket {{ port: 18081, tls {{ {TLS} }} }}",
        f"websocket {{ port: 18081, tls {{ {TLS}, timeout: 5 }} }}",
        USERS,
    ),
]
NO_WEBSOCKET = "{ 0          0 false <nil> false map[] false [] false 0s 0s map[] <nil>}"
WEBSOCKET = "{0.0.0.0 18081          0 true <nil> false map[] %s false 0s 0s map[] <nil>}"
REFUSED = [
    ("host: '0.0.0.0'", "Host: old=127.0.0.1, new=0.0.0.0"),
    ("port: 5555", "Port: old=-1, new=5555"),
    ("server_name: y", "ServerName: old=x, new=y"),
    ("http_port: 1234", "HTTPPort: old=0, new=1234"),
    ("http_base_path: '/a'", "HTTPBasePath: old=, new=/a"),
    ("max_pending: 2mb", "MaxPending: old=67108864, new=2097152"),
    ("max_subscriptions: 5", "MaxSubs: old=0, new=5"),
    ("lame_duck_duration: '60s'", "LameDuckDuration: old=2m0s, new=1m0s"),
    ("no_header_support: true", "NoHeaderSupport: old=false, new=true"),
    ("feature_flags { a: true }", "FeatureFlags: old=map[], new=map[a:true]"),
    (
        "https_port: 1234\ntls { cert_file: cert.pem, key_file: key.pem }",
        "HTTPSPort: old=0, new=1234",
    ),
    ("authorization { users [{user: a}] }\nno_auth_user: a", "NoAuthUser: old=, new=a"),
    ("accounts { S { } }\nsystem_account: S", "SystemAccount: old=, new=S"),
    (
        f"authorization {{ auth_callout {{ issuer: {ACCOUNT}, auth_users: [a] }} }}",
        f"AuthCallout: old=<nil>, new=&{{{ACCOUNT} $G [a]  []}}",
    ),
    (
        "tls { cert_file: cert.pem, key_file: key.pem, verify_and_map: true }",
        "TLSMap: old=false, new=true",
    ),
    (
        "tls { cert_file: cert.pem, key_file: key.pem, connection_rate_limit: 4 }",
        "TLSRateLimit: old=0, new=4",
    ),
    ("allow_non_tls: true", "AllowNonTLS: old=false, new=true"),
    (
        "websocket { port: 18081, no_tls: true, same_origin: true, allowed_origins: 'http://a' }",
        f"Websocket: old={NO_WEBSOCKET}, new={WEBSOCKET % 'true [http://a]'}",
    ),
    (f"trusted_keys: {OPERATOR.key.public}", f"TrustedKeys: old=[], new=[{OPERATOR.key.public}]"),
    ("server_name: q\nmax_pending: 3mb\nhost: '0.0.0.0'", "ServerName: old=x, new=q"),
]


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("before", "after", "names"), RELOADED)
def test_names_of_changes(before: str, after: str, names: list[str]) -> None:
    write_files(Path())
    old = load(BASE + before)
    Path("server.conf").write_text(BASE + after)
    assert changes(old.options, reload_options(old, {}).options) == names


@pytest.mark.behaviour("TLS-008")
def test_new_certificates_in_the_same_files_are_a_change() -> None:
    write_files(Path())
    old = load(f"tls {{ {TLS} }}")
    write_files(Path())
    new = reload_options(old, {}).options
    assert changes(old.options, new) == [*USERS, "tls = enabled"]


def test_a_websocket_listener_shows_no_password() -> None:
    old = load(BASE)
    login = "authorization { user: a, password: hidden }"
    Path("server.conf").write_text(BASE + f"websocket {{ port: 1, no_tls: true, {login} }}")
    with pytest.raises(NotReloadable) as caught:
        changes(old.options, reload_options(old, {}).options)
    assert "hidden" not in str(caught.value)


def test_a_resolver_does_not_come_or_go() -> None:
    base = f"trusted_keys: {OPERATOR.key.public}\n"
    old = load(base + "resolver: MEMORY")
    Path("server.conf").write_text(base)
    with pytest.raises(NotReloadable, match="does not support moving to or from an account res"):
        changes(old.options, reload_options(old, {}).options)


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_cannot_change(text: str, message: str) -> None:
    write_files(Path())
    old = load(BASE)
    Path("server.conf").write_text(BASE + text)
    with pytest.raises(NotReloadable) as caught:
        changes(old.options, reload_options(old, {}).options)
    assert str(caught.value) == f"config reload not supported for {message}"


def test_store_dir_of_a_running_jetstream() -> None:
    old = load("jetstream { store_dir: a }")
    Path("server.conf").write_text("jetstream { store_dir: b }")
    with pytest.raises(NotReloadable, match=r"jetstream storage directory$"):
        changes(old.options, reload_options(old, {}).options)


def test_flags_stay_on_top() -> None:
    Path("server.conf").write_text("port: 1\nmax_payload: 1kb")
    old = parse_args(["-c", "server.conf", "-p", "2222", "-D"], {})
    Path("server.conf").write_text("port: 3\nmax_payload: 2kb\ndebug: false")
    new = reload_options(old, {})
    assert changes(old.options, new.options) == [*USERS, "max_payload = 2048"]
    assert (new.options.port, new.options.debug) == (2222, True)


def test_a_bad_file_is_refused() -> None:
    old = load(BASE)
    Path("server.conf").write_text(BASE + "zzz: 1")
    with pytest.raises(ConfigError, match=r'^server.conf:3:1: unknown field "zzz"$'):
        reload_options(old, {})


def test_without_a_file_there_is_nothing_to_read() -> None:
    with pytest.raises(ConfigError, match=r"^can only reload config when a file is provided"):
        reload_options(parse_args([], {}), {})


def test_every_option_is_in_the_table() -> None:
    known = {option.field for option in OPTIONS}
    fields = {
        name for name in Options.__struct_fields__ if name not in ("authorization", "jetstream")
    }
    fields |= {f"authorization.{name}" for name in Authorization.__struct_fields__}
    fields |= {f"jetstream.{name}" for name in JetStreamOptions.__struct_fields__}
    by_itself = {"config_file", "config_digest", "jetstream.store_dir", "jetstream.settings"}
    by_itself |= {"jetstream.in_memory", "jetstream.ahead"}  # no file can ask for it
    assert known == fields - by_itself
