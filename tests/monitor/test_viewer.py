"""Who may see what."""

from __future__ import annotations

from base64 import b64encode

import pytest

from jetstream_py.config.account_options import Permissions, Rule, User
from jetstream_py.server.connect import ConnectOptions
from jetstream_py.server.monitor.viewer import credentials, is_local, readable


def basic(text: str) -> str:
    return f"Basic {b64encode(text.encode()).decode()}"


@pytest.mark.parametrize(
    ("header", "client"),
    [
        ("", ConnectOptions()),
        (basic("ann:secret"), ConnectOptions(user="ann", password="secret")),
        (basic("ann:a:b"), ConnectOptions(user="ann", password="a:b")),
        (basic("ann:"), ConnectOptions(user="ann")),
        (basic("ann"), ConnectOptions(user="ann")),
        (basic("änn:ß"), ConnectOptions(user="änn", password="ß")),
        (basic(":token"), ConnectOptions(auth_token="token")),
        (basic("ann:x").replace("Basic", "bAsIc"), ConnectOptions(user="ann", password="x")),
        ("Bearer token", ConnectOptions(auth_token="token")),
        ("Basic", ConnectOptions()),
        ("Basic !!!", ConnectOptions()),
        ("Basic ä", ConnectOptions()),
        (f"Basic {b64encode(bytes([255, 58, 255])).decode()}", ConnectOptions()),
        ("Digest username=x", ConnectOptions()),
    ],
)
def test_credentials(header: str, client: ConnectOptions) -> None:
    assert credentials(header) == client


def subscribe(allow: tuple[str, ...] | None = None, deny: tuple[str, ...] = ()) -> Permissions:
    return Permissions(subscribe=Rule(allow, deny))


@pytest.mark.parametrize(
    ("permissions", "subject", "may"),
    [
        (None, "a.b", True),
        (Permissions(publish=Rule(("x",))), "a.b", True),
        (subscribe(("a.>",)), "a.b", True),
        (subscribe(("a.>",)), "b.a", False),
        (subscribe(()), "a", False),
        (subscribe(None, ("a.secret",)), "a.b", True),
        (subscribe(None, ("a.secret",)), "a.secret", False),
        (subscribe(("a.*",), ("*.secret",)), "a.secret", False),
        (subscribe(("a.> group",)), "a.b", False),
        (subscribe(("a.> group", "a.b")), "a.b", True),
        (subscribe(None, ("a.> group",)), "a.b", True),
    ],
)
def test_permissions(permissions: Permissions | None, subject: str, may: bool) -> None:
    assert readable(User(permissions=permissions))(subject.encode()) is may


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1:8222", True),
        ("10.1.2.3", True),
        ("[::1]:8222", True),
        ("[fe80::1]", True),
        ("localhost:8222", True),
        ("LocalHost", True),
        ("nats:8222", True),
        ("nats.prod.svc.cluster.local:8222", True),
        ("", True),
        ("evil.example:8222", False),
        ("evil.example", False),
        ("evil.example.", False),
        ("127.0.0.1.evil.example", False),
        ("local.evil.example:1", False),
    ],
)
def test_names_that_nobody_can_rebind(host: str, local: bool) -> None:
    assert is_local(host) is local
