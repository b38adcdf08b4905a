"""From settings to a connection, and from an `async def` to a verb.

Flags and environment win over the context. The connection is the one of migrations: answers are JSON as
they came, so fields that no library knows are shown and kept, and headers stay in their order. It waits
for a server to come back, unlike there: whoever subscribes wants to go on.
"""

from __future__ import annotations

import asyncio
import functools
import math
import re
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import urlsplit

import click
from nats.errors import SlowConsumerError

from jetstream_py.cli import contexts, show
from jetstream_py.cli.failure import Failure, api_failure
from jetstream_py.cli.frame import DEFAULT_URL, Settings
from jetstream_py.migrate.connection import Connection, Json
from jetstream_py.migrate.errors import ApiError, DeniedError, MigrateError

RECONNECTS: Final = 60
RECONNECT_WAIT: Final = 2  # seconds
# What a server says that does not know us; the reset may be faster than its words.
TURNED_AWAY: Final = ("authorization", "authentication", "reset", "eof", "closed")
# field of a context file -> global option
FIELDS: Final = {
    "url": "server",
    "user": "user",
    "password": "password",
    "token": "token",
    "creds": "creds",
    "nkey": "nkey",
    "cert": "tlscert",
    "key": "tlskey",
    "ca": "tlsca",
    "tls_first": "tlsfirst",
    "inbox_prefix": "inbox_prefix",
    "jetstream_domain": "js_domain",
    "jetstream_api_prefix": "js_api_prefix",
}


class Session(Connection):
    """A connection with the settings it was made by."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        where = without_secrets(settings.server or DEFAULT_URL)
        super().__init__(where, settings.js_domain or "", settings.seconds)
        if settings.js_api_prefix:
            self.prefix = settings.js_api_prefix.rstrip(".") + "."

    async def on_error(self, error: Exception) -> None:
        """That a server turns us away says more than what comes after it."""
        if isinstance(error, SlowConsumerError):
            show.note(
                f"Messages of {error.subject} were lost: they come faster than they are shown"
            )
        if "authorization" not in str(self.trouble).lower():
            await super().on_error(error)

    @property
    def json(self) -> bool:
        return self.settings.json

    @property
    def server_info(self) -> Json:
        """What the server said of itself when we came."""
        found: Json = self._server_info
        return found


def without_secrets(urls: str) -> str:
    """Addresses as they may be shown: without what stands before an @."""
    return re.sub(r"(^|,|//)[^/,@]*@", r"\1", urls)


def connected(function: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make an `async def verb(session, ...)` a click callback."""

    @functools.wraps(function)
    def callback(*arguments: Any, **options: Any) -> None:
        run(lambda session: function(session, *arguments, **options))

    return callback


def run(work: Callable[[Session], Awaitable[None]]) -> None:
    """Do something with a connection made by the settings of the command line."""
    settings = click.get_current_context().find_object(Settings) or Settings()
    asyncio.run(work_with(settings, work))


async def work_with(
    settings: Settings,
    work: Callable[[Any], Awaitable[None]],
    kind: type[Session] = Session,
) -> None:
    """Connect, work, close. Raises `Failure` for whatever a server may say."""
    session = await connect(settings, kind)
    try:
        await work(session)
    except ApiError as error:
        raise api_failure(error.code, error.err_code, error.description) from None
    except DeniedError as error:
        raise Failure(
            str(error), "connect as a user who may (--user, --creds, --context)"
        ) from None
    except MigrateError as error:
        raise Failure(str(error)) from None
    finally:
        await session.close()


async def connect(settings: Settings, kind: type[Session] = Session) -> Session:
    """Raises `Failure`."""
    use_context(settings)
    session = kind(settings)
    arguments = login(settings)
    try:
        await session.connect(
            connect_timeout=math.ceil(settings.seconds),
            error_cb=session.on_error,
            closed_cb=session.on_closed,
            name=settings.connection_name or "jetstream-py",
            max_reconnect_attempts=1,  # the first time, an address that does not answer is an error
            reconnect_time_wait=0,
            **arguments,
        )
    except Exception as error:  # nats-py lets pass whatever libraries below it raise
        reason = str(session.trouble or error).removeprefix("nats: ").strip("'")
        await session.close()
        raise Failure(
            f"cannot connect to {session.where}: {reason or type(error).__name__}", _hint(reason)
        ) from None
    session.options["max_reconnect_attempts"] = RECONNECTS
    session.options["reconnect_time_wait"] = RECONNECT_WAIT
    return session


def _hint(reason: str) -> str:
    if any(word in reason.lower() for word in TURNED_AWAY):
        return "does it want a login? give --user and --password, --creds, --nkey or --context"
    return "is a server running there? give -s URL or --context NAME"


def use_context(settings: Settings) -> None:
    """Fill in what nobody said from the context."""
    name = settings.context or ("" if settings.no_context else contexts.selected())
    if not name:
        return
    found = contexts.load(name)
    for stored, option in FIELDS.items():
        if found.get(stored) and getattr(settings, option) is None:
            setattr(settings, option, found[stored])


def login(settings: Settings) -> Json:
    """The arguments of nats-py's connect."""
    servers = (settings.server or DEFAULT_URL).split(",")
    urls = [url.strip() if "://" in url else f"nats://{url.strip()}" for url in servers]
    arguments: Json = {"servers": urls}
    if settings.user and settings.password is None:
        arguments["token"] = settings.user
    elif settings.user:
        arguments |= {"user": settings.user, "password": settings.password}
    named: dict[str, Any] = {
        "token": settings.token,
        "user_credentials": settings.creds,
        "nkeys_seed": settings.nkey,
        "inbox_prefix": settings.inbox_prefix,
        "tls_handshake_first": settings.tlsfirst,
        "tls": _tls(settings, urls),
    }
    return arguments | {name: value for name, value in named.items() if value}


def _tls(settings: Settings, urls: list[str]) -> ssl.SSLContext | None:
    secure = any(urlsplit(url).scheme in ("tls", "wss") for url in urls)
    if not (secure or settings.tlsca or settings.tlscert or settings.tlsfirst):
        return None
    try:
        context = ssl.create_default_context(cafile=settings.tlsca)
        if settings.tlscert:
            context.load_cert_chain(settings.tlscert, settings.tlskey)
    except (OSError, ssl.SSLError) as error:
        raise Failure(
            f"TLS files cannot be used: {error}", "see --tlsca, --tlscert, --tlskey"
        ) from None
    return context
