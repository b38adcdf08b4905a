"""A bus without a connection: streams of one account for code in the server's own loop.

Requests and publishes take the way of every part of the server (`server.internal`), and so do the answers,
through the outbox: what this code sees is committed, as it is for a client. There are no permissions, and
no subject mappings; the account is the bound.

The server answers a read within the call, so a loop of reads would never let anybody else run. After so many
answers without a pause (`TURN`) a request gives the loop a turn.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from jetstream_py import headers as hdr
from jetstream_py.js.errors import (
    Disconnected,
    InvalidName,
    JetStreamError,
    NoResponders,
    RequestTimeout,
)
from jetstream_py.js.types import NO_HEADERS, Headers, Received, parse_headers
from jetstream_py.js.wire import TIMEOUT, WireJetStream
from jetstream_py.nuid import Nuid
from jetstream_py.server.internal import Internal
from jetstream_py.subject import is_literal, is_valid

if TYPE_CHECKING:
    from jetstream_py.server.accounts import Account
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.sublist import Sub

TURN: Final = 32  # answers at once before others have their turn: about a millisecond

INBOXES: Final = "_INBOX"


class AccountBus:
    """The bus of one account of a running server."""

    def __init__(self, broker: Broker, account: Account, inboxes: str = INBOXES) -> None:
        """`inboxes` is what the subjects of answers begin with."""
        self._broker = broker
        self._inboxes = inboxes
        self._internal = Internal(broker, account)
        self.new_id = Nuid(os.urandom).next
        self.now_ns = broker.clock.now_ns
        self._prefix = f"{inboxes}.{self.new_id()}.".encode()
        self._sub: Sub | None = self._internal.subscribe(self._prefix + b"*", self._answered)
        self._waiting: dict[bytes, asyncio.Future[Received]] = {}
        self._count = 0
        self._at_once = 0
        self._gathering = False

    @property
    def max_payload(self) -> int:
        return self._broker.options.max_payload

    def close(self) -> None:
        """Requests that wait end with Disconnected; readers end at their next silence."""
        if self._sub is not None:
            self._internal.unsubscribe(self._sub)
            self._sub = None
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(Disconnected("the server is closed"))

    async def request(
        self, subject: str, data: bytes, headers: Headers, seconds: float
    ) -> Received:
        self._check_open()
        self._count += 1
        token = b"%b%d" % (self._prefix, self._count)
        answer: asyncio.Future[Received] = asyncio.get_running_loop().create_future()
        self._waiting[token] = answer
        try:
            if not self._send(subject, data, token, headers):
                raise NoResponders(f"nobody listens to {subject}")
            if answer.done():
                await self._pause()
                return answer.result()
            self._at_once = 0
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise RequestTimeout(f"no answer from {subject}") from None
        finally:
            del self._waiting[token]

    async def publish(
        self, subject: str, data: bytes = b"", headers: Headers = NO_HEADERS, reply: str = ""
    ) -> None:
        self._check_open()
        if not self._send(subject, data, reply.encode(), headers) and reply:
            raise NoResponders(f"nobody listens to {subject}")
        await self._pause()

    async def inbox(self, deliver: Callable[[Received], None]) -> AccountInbox:
        self._check_open()
        return AccountInbox(self._internal, f"{self._inboxes}.{self.new_id()}", deliver)

    def _send(self, subject: str, data: bytes, reply: bytes, headers: Headers) -> bool:
        """Did anybody get it? Streams take what is published in one turn as one run."""
        block = _block(headers)
        heard = self._internal.publish(_subject(subject), data, reply, block, gather=True)
        if self._broker.collectors.filled and not self._gathering:
            self._gathering = True
            self._broker.loop.call_soon(self._hand_over)
        return heard

    def _hand_over(self) -> None:
        self._gathering = False
        self._internal.hand_over()

    async def _pause(self) -> None:
        self._at_once += 1
        if self._at_once >= TURN:
            self._at_once = 0
            await asyncio.sleep(0)

    def _check_open(self) -> None:
        if self._sub is None:
            raise Disconnected("the server is closed")

    def _answered(
        self, subject: bytes, reply: bytes, headers: bytes, data: bytes, client: object
    ) -> bool:
        answer = self._waiting.get(subject)
        if answer is None or answer.done():
            return False
        answer.set_result(_received(subject, reply, headers, data))
        return True


class AccountInbox:
    """A subscription whose receiver is a function."""

    def __init__(
        self, internal: Internal, subject: str, deliver: Callable[[Received], None]
    ) -> None:
        self.subject = subject
        self._internal = internal
        self._deliver = deliver
        self._sub: Sub | None = internal.subscribe(subject.encode(), self._received)

    def _received(
        self, subject: bytes, reply: bytes, headers: bytes, data: bytes, client: object
    ) -> None:
        self._deliver(_received(subject, reply, headers, data))

    async def close(self) -> None:
        if self._sub is not None:
            self._internal.unsubscribe(self._sub)
            self._sub = None


def _subject(text: str) -> bytes:
    """What a session checks of a client's: nobody else looks at a publish of the server's own."""
    subject = text.encode("utf-8", "replace")
    if not is_valid(subject) or not is_literal(subject):
        raise InvalidName(f"not a subject: {text[:100]!r}")
    return subject


def _block(headers: Headers) -> bytes:
    if not headers:
        return b""
    return hdr.extend(b"", *((name.encode(), value.encode()) for name, value in headers.items()))


def _received(subject: bytes, reply: bytes, block: bytes, data: bytes) -> Received:
    if not block:
        return Received(subject.decode(), reply.decode(), NO_HEADERS, data)
    status, text = 0, ""
    if block[8:10] != b"\r\n":
        line = block[: block.find(b"\r\n")].decode("utf-8", "replace")
        _, _, rest = line.partition(" ")
        code, _, text = rest.partition(" ")
        status = int(code) if code.isdigit() else 500
    headers = parse_headers(block)
    return Received(subject.decode(), reply.decode(), headers, data, status, text)


def jetstream(
    broker: Broker, account: str, *, domain: str = "", timeout: float = TIMEOUT
) -> WireJetStream:
    """JetStream of an account, for code in the server's loop. Raises JetStreamError if there is none."""
    found = broker.find_account(account)
    if found is None:
        raise JetStreamError(f"there is no account {account!r}")
    return WireJetStream(AccountBus(broker, found), domain=domain, timeout=timeout)
