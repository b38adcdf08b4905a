"""The server's log: nats-server's line format on stderr, in a file that rotates, or in syslog.

    [pid] 2026/11/16 01:51:42.625835 [INF] text

Tools wait for such lines and cut them apart, so the format is part of the interface. Writing is
one system call and may fail: a closed pipe or a full disk costs log lines, never the server.
Building a text costs time, so callers look at `debugging` and `tracing` before they build one.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from jetstream_py.log.files import FileSink, StreamSink
from jetstream_py.log.lines import DBG, ERR, FTL, INF, TRC, WRN, Level, LogError, LogSettings, Sink

__all__ = ["Level", "Log", "LogError", "LogSettings", "Sink"]


class Log:
    """What the server writes its lines to."""

    __slots__ = ("_now_ns", "_settings", "_sink", "debugging", "tracing")

    def __init__(
        self,
        settings: LogSettings = LogSettings(),  # noqa: B008 - frozen
        now_ns: Callable[[], int] = time.time_ns,
        sink: Sink | None = None,
    ) -> None:
        """`sink` takes the lines instead of the place that the settings name."""
        self._now_ns = now_ns
        self._settings = settings
        self._sink = sink or open_sink(settings)
        self.debugging = settings.debug
        self.tracing = settings.trace

    def info(self, text: str) -> None:
        self._sink.write(INF, text, self._now_ns())

    def warn(self, text: str) -> None:
        self._sink.write(WRN, text, self._now_ns())

    def error(self, text: str) -> None:
        self._sink.write(ERR, text, self._now_ns())

    def fatal(self, text: str) -> None:
        self._sink.write(FTL, text, self._now_ns())

    def debug(self, text: str) -> None:
        if self.debugging:
            self._sink.write(DBG, text, self._now_ns())

    def trace(self, text: str) -> None:
        if self.tracing:
            self._sink.write(TRC, text, self._now_ns())

    def reopen(self) -> None:
        """Someone moved the file away: start a new one under the old name."""
        if self._sink.reopen():
            self.info("File log re-opened")
        else:
            self.info("File log re-open ignored, not a file logger")

    def configure(self, settings: LogSettings) -> None:
        """Go over to other settings. When their place cannot be opened, nothing changes."""
        if settings != self._settings:
            sink = open_sink(settings)
            self._sink.close()
            self._sink = sink
        self._settings = settings
        self.debugging = settings.debug
        self.tracing = settings.trace

    def close(self) -> None:
        self._sink.close()


def open_sink(settings: LogSettings) -> Sink:
    """The place that the settings ask for."""
    if settings.file:
        return FileSink(settings)
    if settings.syslog or settings.remote_syslog:
        from jetstream_py.log.syslog import SyslogSink  # rarely used

        return SyslogSink(settings)
    return StreamSink(settings)
