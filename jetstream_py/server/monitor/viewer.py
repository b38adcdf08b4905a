"""What the page may show of messages, and to whom: the seam to streams and to authentication.

Monitoring is open to whoever reaches its port, messages are not: contents are shown to those who could
connect as a client with the credentials that they give, as far as such a client could subscribe. On a
server that asks nobody that is everybody.
"""

from __future__ import annotations

import ipaddress
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from jetstream_py.config.account_options import User
from jetstream_py.server.connect import ConnectOptions
from jetstream_py.server.permissions import SubscribeRule


class MessageView(Protocol):
    @property
    def seq(self) -> int: ...
    @property
    def ts(self) -> int: ...
    @property
    def subject(self) -> bytes: ...
    @property
    def headers(self) -> bytes: ...
    @property
    def data(self) -> bytes: ...


class MessagesView(Protocol):
    """A stream's messages, as its store has them."""

    @property
    def first_seq(self) -> int: ...
    def get(self, seq: int, /) -> MessageView | None: ...
    def next(self, seq: int, pattern: bytes, /) -> MessageView | None: ...
    def last(self, pattern: bytes, up_to: int, /) -> int: ...


class Shelf(NamedTuple):
    """A stream to read from; nothing newer than `last_seq`."""

    messages: MessagesView
    last_seq: int


class Viewer(Protocol):
    """What the composition root gives to monitoring."""

    @property
    def asks_nobody(self) -> bool:
        """Is everybody let in, whatever the credentials?"""
        ...

    async def user(self, client: ConnectOptions, ip: str) -> User | None:
        """Who a client with these credentials would be; None: it would be refused."""
        ...

    def stream(self, account: str, name: str) -> Shelf | None: ...


def readable(user: User) -> Callable[[bytes], bool]:
    """To which subjects could the user subscribe?"""
    rule = user.permissions.subscribe if user.permissions is not None else None
    if rule is None:
        return lambda subject: True
    compiled = SubscribeRule(rule)
    return lambda subject: compiled.allows(subject, b"")


def credentials(authorization: str) -> ConnectOptions:
    """The `Authorization` header as a client's CONNECT. `Basic` is a user, or a token when it has no
    name; `Bearer` is a token. What cannot be read is a client without credentials."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return ConnectOptions(auth_token=value.strip())
    if scheme.lower() != "basic":
        return ConnectOptions()
    try:
        name, _, password = b64decode(value, validate=True).decode().partition(":")
    except (NotBase64, UnicodeDecodeError, ValueError):
        return ConnectOptions()
    return (
        ConnectOptions(user=name, password=password)
        if name
        else ConnectOptions(auth_token=password)
    )


_LOCAL_NAMES: Final = (".localhost", ".local", ".internal", ".lan", ".home.arpa")


def is_local(host: str) -> bool:
    """Can only somebody near have made up this `Host`? An address, or a name outside the public DNS.

    A hostile web page can let its own name point here (DNS rebinding), and its scripts then read
    answers as if they were their own. Where no password protects messages, the name must.
    """
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    name = name.strip("[]").rstrip(".").lower()
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return "." not in name or name.endswith(_LOCAL_NAMES)
    return True
