"""A server inside a Python program.

    async with Server() as server:                  # in the running loop
        nc = await nats.connect(server.url)

    with Server(store="tmp") as server:             # in a thread of its own
        ...

It takes nothing from the program: no signal handler, no loop policy, no line on stderr, no setting of the
interpreter. Any number of them may run side by side. What takes time follows the rule of `portal`: in a
coroutine it is awaited, elsewhere it is done on return.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from jetstream_py.app import new_loop
from jetstream_py.app.addresses import WILDCARDS
from jetstream_py.clock import Clock, SystemClock
from jetstream_py.config.keywords import from_keywords
from jetstream_py.embed.asserts import Asserts
from jetstream_py.embed.clock import ManualClock
from jetstream_py.embed.faults import Faults
from jetstream_py.embed.life import Life
from jetstream_py.embed.place import Place, Store
from jetstream_py.embed.portal import NOTHING, LoopThread, Portal
from jetstream_py.embed.records import Records
from jetstream_py.embed.state import describe
from jetstream_py.embed.views import Find, View, bucket_of, show, store_of
from jetstream_py.gotext import join_host_port

if TYPE_CHECKING:
    from jetstream_py.config import Invocation
    from jetstream_py.js.wire import WireJetStream

T = TypeVar("T")

GLOBAL: Final = "$G"
_FIRST: Final[dict[str, Any]] = {"host": "127.0.0.1", "port": 0}
# Nothing may happen to a client because the clock was moved, or wait for a clock that stands still.
_BY_HAND: Final[dict[str, Any]] = {"ping_interval": 1e9, "no_fast_producer_stall": True}


class Server(Asserts):
    """A NATS server with JetStream."""

    def __init__(
        self,
        *,
        config: str | os.PathLike[str] = "",
        store: Store | None = None,
        jetstream: bool | Mapping[str, Any] | None = None,
        monitor: bool = False,
        clock: Clock | None = None,
        manual_clock: bool = False,
        record: bool = False,
        **options: Any,
    ) -> None:
        """`config`: a file of nats-server, or its text. `store`: "memory", "tmp" or a directory.
        `jetstream`: on (the default without a config), off, or its block. `clock`: a `ManualClock`, or
        `manual_clock` for a new one. `record`: remember publishes and acks for assertions. Other options
        are those of nats-server's file, or fields of `config.Options`. Raises ConfigError.
        """
        if clock is None:
            clock = ManualClock() if manual_clock else SystemClock()
        self.clock: Any = clock
        self._first = _FIRST | (_BY_HAND if isinstance(clock, ManualClock) else {})
        if jetstream is None and not config:
            jetstream = True
        if jetstream is not None:
            options["jetstream"] = dict(jetstream) if isinstance(jetstream, Mapping) else jetstream
        if monitor:
            options.setdefault("http_port", 0)
        self._config, self._options = config, options
        self._place = Place(store)
        self._records = Records() if record else None
        self.faults = Faults(lambda: self._life, self._now)
        self._portal: Portal | None = None  # there from the start to the stop
        self._thread: LoopThread | None = None
        self._life: Life | None = None  # not after a kill
        self._ports: dict[str, int] = {}
        self._read()

    def _read(self) -> Invocation:
        return from_keywords(self._config, self._options, os.environ, self._first)

    # -- start and end ----------------------------------------------------------------------------

    async def start(self) -> Self:
        """Start in the running loop. Raises StartError: PortInUse, StoreInUse and others."""
        portal = Portal(asyncio.get_running_loop(), threading.get_ident())
        await self._begin(portal)
        self._portal = portal
        return self

    def start_in_thread(self) -> Self:
        """Start in a thread of its own. Raises StartError."""
        thread = LoopThread(new_loop())
        try:
            thread.run(self._begin, thread.portal)
        except BaseException:
            thread.close()
            raise
        self._portal, self._thread = thread.portal, thread
        return self

    def stop(self) -> Awaitable[None]:
        """Let clients have what is theirs, close everything, remove a temporary store."""
        if self._portal is None:
            return NOTHING
        if self._thread is None:
            return self._stop()
        if self._portal.called_in_coroutine():
            return self._stop_thread_later()
        self._stop_thread()
        return NOTHING

    def _stop_thread(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.run(self._stop)
            thread.close()

    async def _stop_thread_later(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            await thread.portal.visit(self._stop)
            thread.close()

    def kill(self) -> Awaitable[None]:
        """End as by `kill -9`. A directory stays as it is, for `restart` or another server."""
        killed: Awaitable[None] = self._call(self._kill)
        return killed

    def restart(self) -> Awaitable[None]:
        """Stop, unless it was killed, and start again: same ports, same store. Views are to be taken anew."""
        restarted: Awaitable[None] = self._call(self._restart)
        return restarted

    async def _begin(self, portal: Portal) -> None:
        if self._life is not None or self._portal not in (None, portal):
            raise RuntimeError("the server runs already")
        invocation = self._read()
        options = invocation.options
        for name, port in self._ports.items():
            setattr(options, name, port)
        self._place.furnish(options)
        life = Life(invocation, portal, self.clock, self.faults, self._records)
        try:
            await life.start()
        except BaseException:
            if self._portal is None:  # else it is a restart, and there may be another
                self._place.clear()
            raise
        self._life = life
        self._ports = _ports(life)

    async def _stop(self) -> None:
        life, self._life = self._life, None
        if life is not None:
            await life.stop()
        self._portal = None
        self._ports = {}
        self._place.clear()

    async def _kill(self) -> None:
        life, self._life = self._running(), None
        await life.kill()

    async def _restart(self) -> None:
        life, self._life = self._life, None
        if life is not None:
            await life.stop()
        await self._begin(self._up())

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def __enter__(self) -> Self:
        return self.start_in_thread()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop_thread()

    # -- where it is ------------------------------------------------------------------------------

    @property
    def port(self) -> int:
        """Where clients connect; the same after a restart."""
        self._up()
        return self._ports["port"]

    @property
    def title(self) -> str:
        """For people."""
        return f"on port {self._ports['port']}" if self._life is not None else "that does not run"

    @property
    def url(self) -> str:
        life = self._running()
        listener = life.app.listener
        assert listener is not None
        return f"{listener.url_scheme}://{_address(listener.host, listener.port)}"

    @property
    def monitor_url(self) -> str:
        """Of the monitoring port; "" without one."""
        app = self._running().app
        if app.monitor is None:
            return ""
        return f"{app.monitor_scheme}://{_address(app.monitor.host, app.monitor.port)}"

    @property
    def on_disk(self) -> bool:
        """Do streams outlast a kill?"""
        js = self._running().app.jetstream
        return js is not None and js.on_disk

    # -- what is in it ----------------------------------------------------------------------------

    @property
    def jetstream(self) -> WireJetStream:
        """Streams of the global account, without a connection."""
        return self.jetstream_of(GLOBAL)

    def jetstream_of(self, account: str) -> WireJetStream:
        """Streams of an account."""
        js = self._now(lambda: self._running().jetstream(account))
        return js if self._thread is None else cast("WireJetStream", View(self._up(), js))

    def kv(self, bucket: str, *, account: str = GLOBAL, **options: Any) -> Any:
        """A key-value bucket. It is made if there is none, with these options (see `kv.Bucket`)."""
        return self._call(self._found, bucket_of, account, bucket, options)

    def objects(self, store: str, *, account: str = GLOBAL, **options: Any) -> Any:
        """An object store. It is made if there is none, with these options (see `objstore.Store`)."""
        return self._call(self._found, store_of, account, store, options)

    def describe(self) -> Any:
        """Streams, consumers and the latest publishes as text."""
        return self._call(self._describe)

    def describe_now(self) -> str:
        """The same for whoever cannot await, in another thread than the server's."""
        assert self._thread is not None, "its loop would wait for itself"
        return self._thread.run(self._describe)

    async def _describe(self) -> str:
        life = self._running()
        js = life.jetstream(GLOBAL) if life.app.jetstream is not None else None
        return await describe(js, self._records)

    async def _found(self, find: Find, account: str, name: str, options: dict[str, Any]) -> Any:
        found = await find(self._running().jetstream(account), name, options)
        return found if self._thread is None else show(self._up(), found)

    # -- inside -----------------------------------------------------------------------------------

    def _up(self) -> Portal:
        if self._portal is None:
            raise RuntimeError("the server is not started")
        return self._portal

    def _running(self) -> Life:
        if self._life is None:
            raise RuntimeError("the server does not run")
        return self._life

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._up().call(function, *args)

    def _now(self, action: Callable[[], T]) -> T:
        life = self._life
        return self._up().now(action, life.settle if life is not None else _nothing)


def _ports(life: Life) -> dict[str, int]:
    """To be taken again after a restart."""
    app = life.app
    assert app.listener is not None
    found = {"port": app.listener.port}
    if app.monitor is not None:
        found["https_port" if app.monitor_scheme == "https" else "http_port"] = app.monitor.port
    return found


def _address(host: str, port: int) -> str:
    return join_host_port("127.0.0.1" if host in WILDCARDS else host, port)


async def _nothing() -> None:
    return None
