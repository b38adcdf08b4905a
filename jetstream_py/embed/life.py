"""One start of an embedded server, until it is stopped or killed. Everything here runs in its loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from jetstream_py import limits
from jetstream_py.app import inprocess
from jetstream_py.app.failure import StartError
from jetstream_py.app.server import App, log_settings
from jetstream_py.clock import Clock
from jetstream_py.embed.bus import EmbeddedBus
from jetstream_py.embed.clock import ManualClock
from jetstream_py.embed.logs import LoggingSink
from jetstream_py.embed.portal import Portal
from jetstream_py.embed.records import RecordingTracer, Records
from jetstream_py.js.wire import WireJetStream
from jetstream_py.log import Log, LogError
from jetstream_py.timers import drive

if TYPE_CHECKING:
    from jetstream_py.config import Invocation
    from jetstream_py.embed.faults import Faults
    from jetstream_py.server.accounts import Account
    from jetstream_py.server.broker import Broker


class Turns:
    """What is to run in the next turn of the loop, counted."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.pending = 0

    def soon(self, action: Callable[[], None]) -> None:
        self.pending += 1
        self._loop.call_soon(self._run, action)

    def _run(self, action: Callable[[], None]) -> None:
        self.pending -= 1
        action()


class Life:
    """A running server, and a pair of hands of its clock if that is moved by hand."""

    def __init__(
        self,
        invocation: Invocation,
        portal: Portal,
        clock: Clock,
        faults: Faults,
        records: Records | None,
    ) -> None:
        self.portal = portal
        self._clock = clock
        self._records = records
        self._turns = Turns(portal.loop)
        self._views: dict[str, WireJetStream] = {}
        self._undrive: Callable[[], None] = _nothing
        options = invocation.options
        named = options.log_file or options.syslog or options.remote_syslog
        try:
            self._log = Log(log_settings(options), clock.now_ns, None if named else LoggingSink())
        except LogError as error:
            raise StartError(str(error), "Choose another place for the log") from error

        def bus(broker: Broker, account: Account) -> EmbeddedBus:
            return EmbeddedBus(broker, account, faults, records)

        loop = portal.loop
        self.app = App(invocation, {}, self._log, clock, loop, make_bus=bus, soon=self._turns.soon)

    async def start(self) -> None:
        """Raises StartError, and then nothing is left of it."""
        broker = self.app.broker
        self._undrive = self._drive()
        try:
            await self.app.start()
        except BaseException:
            await self.app.release()
            self._end()
            raise
        if self._records is not None:
            wanted = broker.tracing
            broker.tracer = RecordingTracer(broker.tracer, self._records, wanted)
            broker.tracing = True

    def _drive(self) -> Callable[[], None]:
        timers = self.app.broker.timers
        if not isinstance(self._clock, ManualClock):
            return drive(timers, self.portal.loop)
        clock = self._clock
        timers.on_change = self._look
        clock.bind(self)

        def undrive() -> None:
            timers.on_change = _nothing
            clock.unbind(self)

        return undrive

    async def stop(self) -> None:
        await self.app.stop()
        await self._leave()

    async def kill(self) -> None:
        await self.app.kill()
        await self._leave()

    async def _leave(self) -> None:
        self._end()
        for _ in range(limits.QUIET_TURNS):  # closed transports let go of their sockets
            await asyncio.sleep(0)

    def _end(self) -> None:
        self._undrive()
        for view in self._views.values():
            view.bus.close()  # type: ignore[attr-defined]  # it is the account's
        self._views.clear()
        self._log.close()

    # -- views ------------------------------------------------------------------------------------

    def jetstream(self, account: str) -> WireJetStream:
        """Streams of an account without a connection. Raises JetStreamError."""
        if account not in self._views:
            self._views[account] = inprocess.jetstream(self.app.broker, account)
        return self._views[account]

    # -- hands of a clock -------------------------------------------------------------------------

    def next_due(self) -> float | None:
        return self.app.broker.timers.next_due()

    def _look(self) -> None:
        """A timer was set: if it is due on a clock that stands still, nobody else will run it."""
        due = self.next_due()
        if due is not None and due <= self._clock.monotonic():
            self._turns.soon(self._fire)

    def _fire(self) -> None:
        self.app.broker.timers.run_due()

    async def run_due(self) -> None:
        self._fire()
        if not self._quiet():
            await self.settle()

    async def settle(self) -> None:
        quiet = 0
        for _ in range(limits.SETTLE_TURNS):
            await asyncio.sleep(0)
            await self._commit_under_way()
            quiet = quiet + 1 if self._quiet() else 0
            if quiet >= limits.QUIET_TURNS:
                return

    def _quiet(self) -> bool:
        js = self.app.jetstream
        if self._turns.pending or not self.app.broker.idle:
            return False
        return (
            js is None
            or bool(js.store.failed)
            or (js.engine.outbox.idle and not js.store.busy and not js.store.dirty)
        )

    async def _commit_under_way(self) -> None:
        js = self.app.jetstream
        if js is not None and js.store.busy:
            done = asyncio.Event()
            js.store.when_idle(done.set)
            await done.wait()


def _nothing() -> None:
    return None
