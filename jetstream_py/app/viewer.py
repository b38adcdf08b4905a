"""What the page on the monitoring port may show of streams, and to whom."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from jetstream_py.config.account_options import User
from jetstream_py.server.auth import Attempt, Later, Refusal, Verdict
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
        return not self._broker.reception.guard.required

    async def user(self, client: ConnectOptions, ip: str) -> User | None:
        """Users of an auth callout are not let in: its service judges connections, not questions."""
        broker = self._broker
        verdict = broker.reception.guard.judge(
            Attempt(client, ip=ip, now=broker.clock.now_ns() / 1e9)
        )
        while isinstance(verdict, Later):
            verdict = await self._conclude(verdict)
        return verdict if isinstance(verdict, User) else None

    async def _conclude(self, later: Later) -> Verdict:
        """Wait for the threads of logins; who gives up is passed over there."""
        found: asyncio.Future[Verdict] = self._broker.loop.create_future()

        def wanted() -> bool:
            return not found.cancelled()

        def done(verdict: Verdict) -> None:
            if wanted():
                found.set_result(verdict)

        if not self._broker.reception.workers.run(later, wanted, done):
            return Refusal("too many logins at once")
        return await found

    def stream(self, account: str, name: str) -> Shelf | None:
        part = self._jetstream()
        tenants = {each.name: each for each in part.tenants()} if part is not None else {}
        stream = tenants[account].js.streams.get(name) if account in tenants else None
        return None if stream is None else Shelf(stream.store, stream.visible_seq)
