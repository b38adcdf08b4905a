"""Units in and out, templates, contexts, addresses."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jetstream_py.cli import contexts, units
from jetstream_py.cli.connect import login, use_context, without_secrets
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.frame import Settings
from jetstream_py.cli.message import origin
from jetstream_py.cli.templates import expand

S = units.SECOND


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1h30m", 5400 * S),
        ("1d", 86400 * S),
        ("1w", 7 * 86400 * S),
        ("1M", 30 * 86400 * S),
        ("1y", 365 * 86400 * S),
        ("1.5h", 5400 * S),
        ("250ms", S // 4),
        ("7ns", 7),
        ("0", 0),
        ("-1", 0),
        ("unlimited", 0),
    ],
)
def test_durations_in(text: str, nanoseconds: int) -> None:
    assert units.parse_duration(text) == nanoseconds


@pytest.mark.parametrize("text", ["", "soon", "90", "1h30", "h", "-5m", "1e9y", "99999999y", "1 h"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        units.parse_duration(text)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (7, "7ns"),
        (1_500, "1.5µs"),
        (250_000_000, "250ms"),
        (S, "1s"),
        (90 * S, "1m30s"),
        (5400 * S, "1h30m"),
        (86400 * S, "1d"),
        (400 * 86400 * S + 3600 * S, "1y35d1h"),
    ],
)
def test_durations_out(nanoseconds: int, text: str) -> None:
    assert units.duration(nanoseconds) == text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("512", 512),
        ("1K", 1024),
        ("10KB", 10240),
        ("1.5MiB", 1572864),
        ("1 G", 1 << 30),
        ("-1", -1),
    ],
)
def test_sizes_in(text: str, count: int) -> None:
    assert units.parse_size(text) == count


@pytest.mark.parametrize("text", ["", "big", "1X", "-2", "9999999E", "1KiBs"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match=r"size|large"):
        units.parse_size(text)


def test_sizes_out() -> None:
    numbers = (0, 1023, 1024, 1536, 20 << 20, 5 << 60)
    sizes = ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "20 MiB", "5.0 EiB"]
    assert [units.size(number) for number in numbers] == sizes


def test_times() -> None:
    now = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert units.parse_time("1h", now) == datetime(2026, 1, 31, 11, tzinfo=UTC)
    assert units.parse_time("2026-01-01T00:00:00Z") == datetime(2026, 1, 1, tzinfo=UTC)
    assert units.since("2026-01-31T11:59:00.123456789Z", now) == "59.88s"
    assert units.since("0001-01-01T00:00:00Z", now) == "never"


def test_templates() -> None:
    text = expand(
        "{{Count}} {{ .Count }} {{Random 4 4}} {{ID}} {{TimeStamp}} {{Request}}",
        7,
        {"Request": "r"},
    )
    assert re.fullmatch(r"7 7 \w{4} \w{22} [\d-]+T[\d:]+Z r", text)
    assert expand("{{ID}}", 1) != expand("{{ID}}", 1)
    assert expand("no { template } {{}}", 1) == "no { template } {{}}"
    for wrong in ("{{Fly}}", "{{Random 1}}", "{{Random 1 999999999999}}"):
        with pytest.raises(Failure):
            expand(wrong, 1)


def test_addresses_are_shown_without_secrets() -> None:
    given = "nats://u:p@one:4222,tls://token@two,three:1,u:p@four"
    assert without_secrets(given) == "nats://one:4222,tls://two,three:1,four"


def test_reply_subjects_of_all_ages() -> None:
    class Reply:
        def __init__(self, reply: str) -> None:
            self.reply = reply

    for reply in (
        "$JS.ACK.S.C.1.2.3.4.5",
        "$JS.ACK.domain.account.S.C.1.2.3.4.5",
        "$JS.ACK._.account.S.C.1.2.3.4.5.token",
    ):
        assert origin(Reply(reply)) == ("S", "C", 1, 2, 3, 4, 5)  # type: ignore[arg-type]
    assert origin(Reply("_INBOX.1")) is None  # type: ignore[arg-type]


class TestContexts:
    @pytest.fixture(autouse=True)
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        return tmp_path / "nats"

    def test_files_are_those_of_the_nats_command(self, home: Path) -> None:
        contexts.save("one", {"url": "nats://one", "password": "secret"})
        contexts.select("one")
        file = home / "context" / "one.json"
        assert json.loads(file.read_text())["url"] == "nats://one"
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        assert (home / "context.txt").read_text() == "one"
        contexts.save("two", {})
        contexts.select("two")
        assert (home / "previous-context.txt").read_text() == "one"
        assert contexts.names() == ["one", "two"]
        contexts.select("")
        assert contexts.selected() == ""

    def test_options_win_over_the_context(self) -> None:
        contexts.save(
            "one", {"url": "nats://one", "user": "u", "password": "p", "tls_first": False}
        )
        contexts.select("one")
        settings = Settings(server="nats://other")
        use_context(settings)
        assert (settings.server, settings.user, settings.password) == ("nats://other", "u", "p")
        without = Settings(no_context=True)
        use_context(without)
        assert without.user is None

    def test_fields_of_others_stay(self) -> None:
        contexts.save("one", {"windows_cert_store": "x"})
        contexts.save("one", {**contexts.load("one"), "url": "u"})
        assert contexts.load("one")["windows_cert_store"] == "x"

    @pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "a b"])
    def test_names_stay_in_the_folder(self, name: str) -> None:
        with pytest.raises(Failure):
            contexts.path(name)

    def test_what_cannot_be_read_is_named(self, home: Path) -> None:
        with pytest.raises(Failure, match="no context 'none'"):
            contexts.load("none")
        (home / "context").mkdir(parents=True)
        (home / "context" / "bad.json").write_text("[")
        with pytest.raises(Failure, match="'bad' cannot be read"):
            contexts.load("bad")


def test_logins() -> None:
    assert login(Settings(server="one, nats://two"))["servers"] == ["nats://one", "nats://two"]
    assert login(Settings(user="t"))["token"] == "t"
    both = login(Settings(user="u", password="p"))
    assert (both["user"], both["password"], "token" in both) == ("u", "p", False)
    assert "tls" in login(Settings(server="tls://one"))
    with pytest.raises(Failure, match="TLS files"):
        login(Settings(tlsca="/nonexistent.pem"))
