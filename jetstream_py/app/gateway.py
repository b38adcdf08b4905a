"""What the HTTP gateway gets from the server: users are judged, and their streams opened for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from jetstream_py import limits
from jetstream_py.app.user_bus import UserBus
from jetstream_py.gotext import quote
from jetstream_py.js.wire import WireJetStream
from jetstream_py.server.connect import ConnectOptions
from jetstream_py.server.link import NO_LINK
from jetstream_py.server.monitor.viewer import credentials, is_local
from jetstream_py.server.session import Session

if TYPE_CHECKING:
    from jetstream_py.app.viewer import AppViewer
    from jetstream_py.config.account_options import User
    from jetstream_py.gateway import Gateway, Visitor
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.monitor.state import MonitorState

LANGUAGE = "http"  # what such a client is called in logs and events


def make_gateway(broker: Broker, viewer: AppViewer, state: MonitorState) -> Gateway:
    from jetstream_py.gateway import Gateway  # with aiohttp, which most servers never need

    options = broker.options.http_gateway
    doorman = Doorman(broker, viewer, state)
    return Gateway(doorman, options.max_upload, options.allowed_origins, broker.log.error)


class Doorman:
    """Lets visitors in as the users that they prove to be."""

    def __init__(self, broker: Broker, viewer: AppViewer, state: MonitorState) -> None:
        self._broker = broker
        self._viewer = viewer
        self._judges = state.judges

    @asynccontextmanager
    async def admit(self, visitor: Visitor) -> AsyncIterator[WireJetStream]:
        from jetstream_py.gateway.errors import FORBIDDEN, UNAUTHORIZED, HttpError

        open_to_all = self._viewer.asks_nobody or not visitor.authorization
        if open_to_all and not is_local(visitor.host):
            # Or a page of anybody could let its own name point here (see `is_local`).
            raise HttpError(FORBIDDEN, "without credentials only by address, not by a public name")
        client = _said(visitor.authorization)
        async with asyncio.timeout(limits.GATEWAY_REQUEST_TIME), self._judges:
            user = await self._viewer.user(client, visitor.ip)
        if user is None:
            self._refuse(client, visitor.ip)
            raise HttpError(UNAUTHORIZED, "Authorization Violation")
        bus = UserBus(self._broker, self._session(client, visitor.ip, user), visitor.inboxes)
        try:
            yield WireJetStream(bus)
        finally:
            bus.close()

    def _session(self, client: ConnectOptions, ip: str, user: User | None = None) -> Session:
        """One without a connection, which the server does not count."""
        session = Session(self._broker, self._broker.default_account, NO_LINK, 0, ip, 0)
        session.connect = client
        if user is not None:
            session.become(user)
            session.connected = True
        return session

    def _refuse(self, client: ConnectOptions, ip: str) -> None:
        """As for every other login that failed: a line in the log, an event for operators."""
        session = self._session(client.without_secrets(), ip)
        who = f" - User {quote(client.user)}" if client.user else ""
        self._broker.violation(session, f"authentication error{who}")
        if self._broker.events is not None:
            self._broker.events.auth_error(session, "Authorization Violation")


def _said(authorization: str) -> ConnectOptions:
    """A bearer's token may be a user's JWT: one of those that need no signature is let in."""
    client = replace(credentials(authorization), lang=LANGUAGE)
    return replace(client, jwt=client.auth_token) if client.auth_token else client
