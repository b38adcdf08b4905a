"""A bus over a connection of nats-py, which is imported when one is made."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from jetstream_py.clock import SystemClock
from jetstream_py.js.errors import (
    Disconnected,
    InvalidName,
    JetStreamError,
    NoResponders,
    PayloadTooLarge,
    RequestTimeout,
)
from jetstream_py.js.types import NO_HEADERS, Headers, Received
from jetstream_py.js.wire import TIMEOUT, WireJetStream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

PENDING: Final = 128 * 1024 * 1024  # bytes of an inbox; flow control stops the server long before


class NatsBus:
    """The account of a connection."""

    def __init__(self, connection: Client) -> None:
        self._nc = connection

    @property
    def max_payload(self) -> int:
        return int(self._nc.max_payload)

    def new_id(self) -> str:
        name: str = self._nc.new_inbox()
        return name.rpartition(".")[2]

    def now_ns(self) -> int:
        return SystemClock.now_ns()

    async def request(
        self, subject: str, data: bytes, headers: Headers, seconds: float
    ) -> Received:
        try:
            answer = await self._nc.request(
                subject, data, timeout=seconds, headers=dict(headers) or None
            )
        except Exception as error:
            raise _translated(error, subject) from error
        return _received(answer)

    async def publish(
        self, subject: str, data: bytes = b"", headers: Headers = NO_HEADERS, reply: str = ""
    ) -> None:
        try:
            await self._nc.publish(subject, data, reply=reply, headers=dict(headers) or None)
        except Exception as error:
            raise _translated(error, subject) from error

    async def inbox(self, deliver: Callable[[Received], None]) -> NatsInbox:
        async def hand_over(message: Msg) -> None:
            deliver(_received(message))

        subject = self._nc.new_inbox()
        try:
            found = await self._nc.subscribe(subject, cb=hand_over, pending_bytes_limit=PENDING)
        except Exception as error:
            raise _translated(error, subject) from error
        return NatsInbox(subject, found)


class NatsInbox:
    """A subscription of nats-py."""

    def __init__(self, subject: str, subscription: Subscription) -> None:
        self.subject = subject
        self._subscription = subscription

    async def close(self) -> None:
        from nats.errors import Error

        try:
            await self._subscription.unsubscribe()
        except Error:
            pass  # the connection is closed: nothing comes any more


def _received(message: Msg) -> Received:
    headers: dict[str, str] = message.headers or {}
    if "Status" not in headers:
        return Received(message.subject, message.reply, headers, message.data)
    rest = dict(headers)
    # A status without a text takes the line behind it for one.
    status, text = rest.pop("Status"), rest.pop("Description", "").partition("\n")[0].strip()
    code = int(status[:3]) if status[:3].isdigit() else 500
    return Received(message.subject, message.reply, rest, message.data, code, text)


def _translated(error: Exception, subject: str) -> Exception:
    """Errors of nats-py as ours; what is none of its own stays as it is."""
    from nats import errors

    if isinstance(error, errors.NoRespondersError):
        return NoResponders(f"nobody listens to {subject}")
    if isinstance(error, errors.BadSubjectError):
        return InvalidName(f"not a subject: {subject[:100]!r}")
    if isinstance(error, errors.MaxPayloadError):
        return PayloadTooLarge(str(error))
    if isinstance(error, TimeoutError | errors.TimeoutError):
        return RequestTimeout(f"no answer from {subject}")
    if isinstance(error, errors.Error | OSError):
        return Disconnected(str(error))
    return error


def jetstream(
    connection: Client, *, domain: str = "", prefix: str = "", timeout: float = TIMEOUT
) -> WireJetStream:
    """JetStream over a connection of nats-py, which stays the caller's."""
    return WireJetStream(NatsBus(connection), domain=domain, prefix=prefix, timeout=timeout)


@asynccontextmanager
async def connect(
    url: str, *, domain: str = "", prefix: str = "", **options: Any
) -> AsyncIterator[WireJetStream]:
    """JetStream over a connection of its own; `options` are those of `nats.connect`."""
    try:
        import nats
    except ImportError:
        raise JetStreamError(
            "nats-py is not installed: pip install 'jetstream-py[client]'"
        ) from None
    try:
        connection = await nats.connect(url, **options)
    except Exception as error:
        raise _translated(error, url) from error
    try:
        yield jetstream(connection, domain=domain, prefix=prefix)
    finally:
        await connection.close()
