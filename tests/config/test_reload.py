"""Reading the file again: what may change, and the words for what may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetstream_py.config import ConfigError, NotReloadable, changes, parse_args, reload_options
from jetstream_py.config.options import Authorization, JetStreamOptions, Options
from jetstream_py.config.reload import OPTIONS
from tests.config.helper import load

BASE = 'listen: "127.0.0.1:-1"\nserver_name: x\n'
RELOADED = [
    ("", []),
    ("debug: true", ["debug = true"]),
    ("trace_verbose: true", ["trace = true", "trace_verbose = true"]),
    ("max_payload: 1kb", ["max_payload = 1024"]),
    ("max_payload: -1", ["max_payload = -1"]),
    ("ping_interval: '5s'", ["ping_interval = 5s"]),
    ("write_deadline: '90s'", ["write_deadline = 1m30s"]),
    ("authorization { users [{user: a, pass: b}] }", ["authorization users"]),
    ("authorization { token: t }", ["authorization token"]),
    ("authorization { timeout: 1.5 }", ["authorization timeout = 1.5"]),
    ("server_tags: a", ["tags"]),
    ("server_metadata { a: b }", ["metadata"]),
    ("log_file: x.log", ["log_file = x.log"]),
    ("jetstream: true", ["JetStream"]),
    ("max_connections: 5\nping_max: 3", ["max_connections = 5", "ping_max = 3"]),
]
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
    ("server_name: q\nmax_pending: 3mb\nhost: '0.0.0.0'", "ServerName: old=x, new=q"),
]


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("text", "names"), RELOADED)
def test_names_of_changes(text: str, names: list[str]) -> None:
    old = load(BASE)
    Path("server.conf").write_text(BASE + text)
    assert changes(old.options, reload_options(old, {}).options) == names


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_cannot_change(text: str, message: str) -> None:
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
    assert changes(old.options, new.options) == ["max_payload = 2048"]
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
    assert known == fields - by_itself
