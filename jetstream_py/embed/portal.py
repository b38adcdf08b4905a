"""The way into a server's loop, from wherever one is.

One rule for all that takes time: *in a coroutine it is awaited, elsewhere it is done on return*. So the same
call serves a program in the server's own loop, a coroutine in another loop, and plain code beside a server
that has a thread of its own. Only plain code in the thread of the server's own loop has no way: waiting there
would be waiting for oneself.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Final, TypeVar

from jetstream_py import limits

T = TypeVar("T")

_OWN_THREAD: Final = (
    "this server runs in the loop of this thread: call it in a coroutine of that loop and await it, "
    "or start the server in a thread of its own"
)


class _Nothing:
    """To await, or not."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()


NOTHING: Final = _Nothing()


class Portal:
    """Into one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        self.loop = loop
        self._thread = thread

    def call(self, function: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> Any:
        """Run it in the loop, by the rule above."""
        running = _running()
        if running is self.loop:
            return function(*args)
        if running is not None:
            return self.visit(function, *args)
        if threading.get_ident() == self._thread:
            raise RuntimeError(_OWN_THREAD)
        return asyncio.run_coroutine_threadsafe(function(*args), self.loop).result()

    def called_in_coroutine(self) -> bool:
        return _running() is not None

    async def visit(self, function: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
        """The same for a coroutine of any loop."""
        if _running() is self.loop:
            return await function(*args)
        return await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(function(*args), self.loop)
        )

    def now(self, action: Callable[[], T], first: Callable[[], Awaitable[None]]) -> T:
        """Run it in the loop's thread and wait, wherever one is: for what takes no time. From another thread
        it waits for `first`; in the loop's own nothing can be waited for."""
        if threading.get_ident() == self._thread:
            return action()

        async def act() -> T:
            await first()
            return action()

        future = asyncio.run_coroutine_threadsafe(act(), self.loop)
        return future.result(limits.EMBED_WAIT)


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class LoopThread:
    """A thread that runs a loop, and nothing else."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = threading.Thread(target=self._run, name="jetstream-py", daemon=True)
        self._thread.start()
        assert self._thread.ident is not None
        self.portal = Portal(loop, self._thread.ident)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def run(self, function: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
        """Block until it is done, whoever calls."""
        return asyncio.run_coroutine_threadsafe(function(*args), self._loop).result()

    def close(self) -> None:
        """Not from the thread itself."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
