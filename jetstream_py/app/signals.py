"""The signals a server listens to, and what `--signal` calls them."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Final

# As nats-server's log names them.
TRAPPED: Final = {
    signal.SIGINT: "interrupt",
    signal.SIGTERM: "terminated",
    signal.SIGHUP: "hangup",
    signal.SIGUSR1: "user defined signal 1",
    signal.SIGUSR2: "user defined signal 2",
}
_STACKS: Final = 2  # exit status after SIGQUIT


def install(loop: asyncio.AbstractEventLoop, on_signal: Callable[[signal.Signals], None]) -> None:
    """Report signals to the loop. Quit does not wait for it: it is for a server that hangs."""
    for number in TRAPPED:
        loop.add_signal_handler(number, on_signal, number)
    signal.signal(signal.SIGQUIT, _quit)


def uninstall(loop: asyncio.AbstractEventLoop) -> None:
    for number in TRAPPED:
        loop.remove_signal_handler(number)


def _quit(number: int, frame: FrameType | None) -> None:
    """Show what every thread is doing, then end without ceremony."""
    import faulthandler

    try:
        os.write(2, b"SIGQUIT: quit\n\n")
        faulthandler.dump_traceback(2, all_threads=True)
    finally:
        os._exit(_STACKS)
