"""The server's log as records of `logging`, under the name `jetstream_py`.

A program that sets up no logging sees nothing of it.
"""

from __future__ import annotations

import logging
from typing import Final

from jetstream_py.log import Level

LOGGER: Final = logging.getLogger("jetstream_py")
LOGGER.addHandler(logging.NullHandler())

_LEVELS: Final = {
    "INF": logging.INFO,
    "DBG": logging.DEBUG,
    "TRC": logging.DEBUG,
    "WRN": logging.WARNING,
    "ERR": logging.ERROR,
    "FTL": logging.CRITICAL,
}


class LoggingSink:
    """Where an embedded server's lines end up, unless its options name a file or syslog."""

    __slots__ = ()

    def write(self, level: Level, text: str, now_ns: int) -> None:
        LOGGER.log(_LEVELS[level.label], "%s", text)

    def reopen(self) -> bool:
        return False

    def close(self) -> None: ...
