"""How a line looks, and what decides which lines are written where."""

from __future__ import annotations

import os
import time
from typing import Final, NamedTuple, Protocol

import msgspec


class Level(NamedTuple):
    """How one kind of line looks: on a pipe, on a terminal, in syslog."""

    label: str
    colour: str
    severity: str


INF: Final = Level("INF", "32", "notice")
DBG: Final = Level("DBG", "36", "debug")
TRC: Final = Level("TRC", "33", "notice")
WRN: Final = Level("WRN", "0;93", "warning")
ERR: Final = Level("ERR", "31", "err")
FTL: Final = Level("FTL", "31", "crit")


class LogError(Exception):
    """The log cannot be opened as asked; the text says why."""


class LogSettings(msgspec.Struct, frozen=True):
    """What decides where lines go and which are written. A file beats syslog."""

    debug: bool = False
    trace: bool = False
    logtime: bool = True
    logtime_utc: bool = False
    file: str = ""
    size_limit: int = 0  # 0: the file grows
    max_num: int = 0  # files kept, the current one included; 0: all
    syslog: bool = False
    remote_syslog: str = ""


class Sink(Protocol):
    """Where lines end up. No method raises."""

    def write(self, level: Level, text: str, now_ns: int) -> None: ...

    def reopen(self) -> bool:
        """Open the same place anew; False when there is nothing to open."""
        ...

    def close(self) -> None: ...


class LineFormat:
    """Turns a text into a line. The part of the time that changes once a second is kept."""

    __slots__ = ("_coloured", "_head", "_second", "_split", "_stamp")

    def __init__(self, settings: LogSettings, *, coloured: bool = False) -> None:
        self._head = f"[{os.getpid()}] "
        self._coloured = coloured
        self._split = time.gmtime if settings.logtime_utc else time.localtime
        self._second = -1 if settings.logtime else None
        self._stamp = ""

    def line(self, level: Level, text: str, now_ns: int) -> bytes:
        label = f"\x1b[{level.colour}m{level.label}\x1b[0m" if self._coloured else level.label
        stamp = "" if self._second is None else self._time(now_ns)
        return f"{self._head}{stamp}[{label}] {text}\n".encode("utf-8", "backslashreplace")

    def _time(self, now_ns: int) -> str:
        second, rest = divmod(now_ns, 1_000_000_000)
        if second != self._second:
            self._second = second
            self._stamp = time.strftime("%Y/%m/%d %H:%M:%S", self._split(second))
        return f"{self._stamp}.{rest // 1000:06d} "
