"""The composition root: builds a server from its options and keeps it until it ends."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping

from jetstream_py.app.server import App, log_settings
from jetstream_py.clock import SystemClock
from jetstream_py.config import Invocation
from jetstream_py.log import Log, LogError

__all__ = ["App", "run"]


def run(invocation: Invocation, environ: Mapping[str, str]) -> int:
    """Serve until a signal says stop. Returns the exit status."""
    clock = SystemClock()
    try:
        log = Log(log_settings(invocation.options), clock.now_ns)
    except LogError as error:
        # There is no log to write this to, so it looks like a line of one without a level.
        os.write(2, f"{time.strftime('%Y/%m/%d %H:%M:%S')} {error}\n".encode())
        return 1
    loop = new_loop()
    try:
        return loop.run_until_complete(App(invocation, environ, log, clock, loop).run())
    finally:
        loop.close()
        log.close()


def new_loop() -> asyncio.AbstractEventLoop:
    """uvloop where it is installed: about twice the messages per second."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
