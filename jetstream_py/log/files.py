"""Lines on stderr and in files. A write is one system call; one that fails costs its line only."""

from __future__ import annotations

import os
import select
import stat
import time
from typing import Final

from jetstream_py.log.lines import ERR, INF, Level, LineFormat, LogError, LogSettings

STDERR: Final = 2
FILE_MODE: Final = 0o640  # traces show messages: not for everybody's eyes
BACKUP_STAMP: Final = len(".2026.11.16.07.20.05.931197729")


def reason(error: OSError) -> str:
    """The system's words for an error, written as nats-server writes them."""
    return os.strerror(error.errno).lower() if error.errno else str(error)


class StreamSink:
    """Stderr, with colours on a terminal.

    A harness reads the pipe until the server is ready and then forgets it. A full pipe would block
    the writer, and with it every client, so a line for which there is no room is dropped. A pipe
    that polls as writable takes PIPE_BUF bytes without blocking.
    """

    __slots__ = ("_format", "_pipe")

    def __init__(self, settings: LogSettings) -> None:
        self._format = LineFormat(settings, coloured=os.isatty(STDERR))
        self._pipe: select.poll | None = None
        try:
            mode = os.fstat(STDERR).st_mode
        except OSError:
            return
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            self._pipe = select.poll()
            self._pipe.register(STDERR, select.POLLOUT)

    def write(self, level: Level, text: str, now_ns: int) -> None:
        line = self._format.line(level, text, now_ns)
        try:
            if self._pipe is None:
                os.write(STDERR, line)
                return
            for at in range(0, len(line), select.PIPE_BUF):
                if not self._pipe.poll(0):
                    return
                os.write(STDERR, line[at : at + select.PIPE_BUF])
        except OSError:
            pass

    def reopen(self) -> bool:
        return False

    def close(self) -> None:
        pass


class FileSink:
    """A file that is renamed when it outgrows its limit; the oldest renamed ones are removed."""

    __slots__ = ("_fd", "_format", "_limit", "_max_num", "_path", "_rotate_at", "_size")

    def __init__(self, settings: LogSettings) -> None:
        self._format = LineFormat(settings)
        self._path = settings.file
        self._limit = settings.size_limit
        self._max_num = settings.max_num
        self._fd = -1
        try:
            self._open()
        except OSError as error:
            raise LogError(f"error opening file: open {self._path}: {reason(error)}") from error

    def write(self, level: Level, text: str, now_ns: int) -> None:
        self._append(level, text, now_ns)
        if self._limit > 0 and self._size > self._rotate_at:
            self._rotate(now_ns)

    def reopen(self) -> bool:
        old = self._fd
        try:
            self._open()
        except OSError:
            return True  # whatever moved the file took its folder away: go on in the old file
        os.close(old)
        return True

    def close(self) -> None:
        try:
            os.close(self._fd)
        except OSError:
            pass
        self._fd = -1

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._fd = os.open(self._path, flags, FILE_MODE)
        self._size = os.fstat(self._fd).st_size
        self._rotate_at = self._limit

    def _append(self, level: Level, text: str, now_ns: int) -> None:
        try:
            self._size += os.write(self._fd, self._format.line(level, text, now_ns))
        except OSError:
            pass

    def _rotate(self, now_ns: int) -> None:
        second, rest = divmod(now_ns, 1_000_000_000)
        stamp = time.strftime(".%Y.%m.%d.%H.%M.%S", time.localtime(second))
        backup = f"{self._path}{stamp}.{rest:09d}"
        old = self._fd
        try:
            os.rename(self._path, backup)
            self._open()
            os.close(old)
        except OSError as error:
            self._rotate_at = self._size + self._limit  # not at every line from now on
            text = f'Unable to rotate the logfile "{self._path}": {reason(error)}'
            self._append(ERR, text, now_ns)
            return
        self._append(INF, f'Rotated log, backup saved as "{backup}"', now_ns)
        if self._max_num > 0:
            self._purge(now_ns)

    def _purge(self, now_ns: int) -> None:
        folder, name = os.path.split(self._path)
        try:
            backups = sorted(other for other in os.listdir(folder or ".") if is_backup(name, other))
            for other in backups[: max(0, len(backups) - (self._max_num - 1))]:
                os.remove(os.path.join(folder, other))
                self._append(INF, f'Purged log file "{other}"', now_ns)
        except OSError as error:
            self._append(ERR, f"Unable to remove old log files: {reason(error)}", now_ns)


def is_backup(name: str, other: str) -> bool:
    """Is `other` a name that rotation gave to an old `name`?"""
    stamp = other[len(name) :]
    return (
        other.startswith(name) and len(stamp) == BACKUP_STAMP and stamp.replace(".", "").isdigit()
    )
