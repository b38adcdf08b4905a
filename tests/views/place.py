"""A server in the test's own loop, on a clock moved by hand, and its streams without a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from typing import Any

from jetstream_py.app import inprocess
from jetstream_py.js import WireJetStream
from jetstream_py.js.types import NO_HEADERS, Headers, Received
from tests.engine.world import World

LIMIT = 30.0
MEMORY: dict[str, Any] = {"storage": "memory"}


class Place:
    """What a test of a view needs."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.js = inprocess.jetstream(world.bench.broker, "$G")

    def pass_time(self, seconds: float) -> None:
        """Move the clock and let the timers run; the loop's turns are the caller's."""
        self.world.bench.clock.advance(seconds)
        self.world.bench.broker.timers.run_due()

    async def turns(self) -> None:
        """Let everybody do what is to be done now."""
        for _ in range(20):
            await asyncio.sleep(0)


def inside(test: Callable[[Place], Awaitable[None]]) -> Callable[[Path], None]:
    """Run a test in the loop of a server of its own."""

    def play(tmp_path: Path) -> None:
        world = World(tmp_path)
        try:
            coroutine = asyncio.wait_for(test(Place(world)), LIMIT)
            world.bench.loop.run_until_complete(coroutine)
        finally:
            world.close()

    wraps(test)(play)
    del play.__wrapped__  # type: ignore[attr-defined]  # pytest would look for its arguments
    return play


class Broken:
    """A bus that fails, or loses, what a test tells it to."""

    def __init__(self, bus: Any) -> None:
        self._bus = bus
        self.max_payload = bus.max_payload
        self.new_id, self.now_ns = bus.new_id, bus.now_ns
        self.fail: Callable[[str], Exception | None] = lambda subject: None
        self.lose: Callable[[Received], bool] = lambda received: False
        self.sent: list[str] = []

    async def request(
        self, subject: str, data: bytes, headers: Headers, seconds: float
    ) -> Received:
        self.sent.append(subject)
        failure = self.fail(subject)
        if failure is not None:
            raise failure
        found: Received = await self._bus.request(subject, data, headers, seconds)
        return found

    async def publish(
        self, subject: str, data: bytes = b"", headers: Headers = NO_HEADERS, reply: str = ""
    ) -> None:
        self.sent.append(subject)
        await self._bus.publish(subject, data, headers, reply)

    async def inbox(self, deliver: Callable[[Received], None]) -> Any:
        def hand_over(received: Received) -> None:
            if not self.lose(received):
                deliver(received)

        return await self._bus.inbox(hand_over)


def broken(place: Place) -> tuple[Broken, WireJetStream]:
    bus = Broken(place.js.bus)
    return bus, WireJetStream(bus)
