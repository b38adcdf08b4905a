"""What the page on the monitoring port may show of streams, and to whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jetstream_py.config.account_options import User
from jetstream_py.server.auth import authenticate
from jetstream_py.server.connect import ConnectOptions
from jetstream_py.server.monitor.viewer import Shelf

if TYPE_CHECKING:
    from jetstream_py.app.jetstream import JetStreamPart
    from jetstream_py.server.broker import Broker


class AppViewer:
    """Streams of the running server, and its judgement of credentials."""

    def __init__(self, broker: Broker, jetstream: Callable[[], JetStreamPart | None]) -> None:
        self._broker = broker
        self._jetstream = jetstream

    @property
    def asks_nobody(self) -> bool:
        return not self._broker.options.authorization.required

    async def user(self, client: ConnectOptions) -> User | None:
        name = authenticate(self._broker.options, client)
        if name is None:
            return None
        known = {user.name: user for user in self._broker.options.authorization.users}
        return known.get(name, User(name))

    def stream(self, account: str, name: str) -> Shelf | None:
        part = self._jetstream()
        stream = part.js.streams.get(name) if part is not None else None
        if stream is None or account != self._broker.default_account.name:
            return None
        return Shelf(stream.store, stream.visible_seq)
