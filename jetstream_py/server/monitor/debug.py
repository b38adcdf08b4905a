"""/stacksz and /debug/vars: for whoever looks for a fault in the server itself.

Neither shows what a client sent or what the configuration keeps secret: stacks are file, line and
function; of the command line only the program is told, because flags may hold passwords.
"""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import PurePath
from types import FrameType

import msgspec

from jetstream_py import limits
from jetstream_py.server.monitor import usage


class MemStats(msgspec.Struct):
    """The names are Go's, as far as Python has something to say under them."""

    Sys: int
    HeapObjects: int
    NumGC: int


class DebugVars(msgspec.Struct):
    cmdline: list[str]
    memstats: MemStats


def debug_vars() -> DebugVars:
    return DebugVars([PurePath(sys.argv[0]).name], memstats())


def memstats() -> MemStats:
    collections = sum(each["collections"] for each in gc.get_stats())
    return MemStats(usage.resident_bytes(), sum(gc.get_count()), collections)


def stacks() -> str:
    """Where each thread is."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = []
    for ident, top in sys._current_frames().items():
        lines = [f"thread {ident} [{names.get(ident, '')}]:"]
        frame: FrameType | None = top
        while frame is not None and len(lines) <= limits.STACK_DEPTH:
            code = frame.f_code
            lines.append(
                f"{code.co_qualname}\n\t{PurePath(code.co_filename).name}:{frame.f_lineno}"
            )
            frame = frame.f_back
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)
